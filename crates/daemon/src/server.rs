//! The server of a daemon: accepts connections for a service until it stops.

use crate::config::Config;
use crate::gate::Gate;
use crate::http;
use crate::unauthenticated::Slot;
use isthmus_wire::{Address, Certificate, Error, Listener, Result, Transport, listen_tcp};
use rustix::event::{PollFd, PollFlags, poll};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The pause after a failed attempt to accept a connection: descriptors or threads may be free
/// again afterwards.
const RETRY: Duration = Duration::from_millis(50);

/// The service that a daemon provides: it handles requests and has the state.
pub trait Service: Send + Sync + 'static {
    /// Serve the connection of a client until it ends, on its own thread. The client has not
    /// authenticated: it must do so within [`Gate::hello`], and occupies `slot` until then.
    fn serve(&self, slot: Slot, transport: Transport);

    /// Return the metrics of the service in the text format of Prometheus; `None` if the service
    /// has failed.
    fn metrics(&self) -> Option<String>;

    /// Return whether the service accepts new requests of clients.
    fn is_accepting(&self) -> bool;
}

/// Listening sockets of a server whose service does not exist yet.
#[derive(Debug)]
pub struct Listeners {
    gate: Arc<Gate>,
    bound: Vec<(Listener, Address)>,
    metrics: Option<(TcpListener, SocketAddr)>,
}

impl Listeners {
    /// Bind all addresses of the configuration, load the certificate and open the log.
    ///
    /// # Errors
    /// An invalid configuration; an address that is in use; a system without descriptors or
    /// threads.
    pub fn bind(mut config: Config) -> Result<Self> {
        config.check()?;
        let tls = config.certificate.as_ref().map(Certificate::load);
        let tls = tls.transpose()?;
        let bound = config
            .listen
            .iter()
            .map(|at| Listener::bind(at, config.socket_mode));
        let bound = bound.collect::<Result<_>>()?;
        let metrics = config.metrics.map(|at| {
            let what = |error| Error::system(format!("listening for metrics at {at}"), error);
            let listener = listen_tcp(at).map_err(what)?;
            let at = listener.local_addr().map_err(what)?;
            Ok::<_, Error>((listener, at))
        });
        Ok(Self {
            bound,
            metrics: metrics.transpose()?,
            gate: Arc::new(Gate::new(&mut config, tls)?),
        })
    }

    /// Return the gate, with which the service admits clients.
    #[must_use]
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Start to accept connections for this service.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub fn serve(self, service: &Arc<impl Service>) -> Result<Server> {
        let mut server = Server {
            gate: self.gate,
            threads: Vec::new(),
            addresses: Vec::new(),
            metrics: self.metrics.as_ref().map(|(_, at)| *at),
        };
        if let Some((listener, _)) = self.metrics {
            let service = Arc::clone(service);
            server.spawn("metrics", move |gate| {
                http::serve(gate, &service, &listener)
            })?;
        }
        for (listener, address) in self.bound {
            server.gate.log.record(&address.to_string(), "listen", "ok");
            server.addresses.push(address);
            let service = Arc::clone(service);
            server.spawn("listen", move |gate| listen(gate, &service, &listener))?;
        }
        Ok(server)
    }
}

/// A running server of a daemon.
#[derive(Debug)]
pub struct Server {
    gate: Arc<Gate>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<Address>,
    metrics: Option<SocketAddr>,
}

impl Server {
    /// Start a thread that runs until the server stops.
    fn spawn(&mut self, name: &str, work: impl FnOnce(&Arc<Gate>) + Send + 'static) -> Result<()> {
        let gate = Arc::clone(&self.gate);
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || work(&gate));
        let thread = thread.map_err(|error| Error::system("a thread that listens", error))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Return the addresses at which the server listens, with the actual ports.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Return the address of the metrics, if there is one.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Open the log again, after another program has renamed its file, and read the secrets and the
    /// certificate again. If that fails, the error is logged, and the old value stays in use.
    /// Sessions continue.
    pub fn reload(&self) {
        self.gate.reload();
    }

    /// Stop accepting connections.
    pub fn stop_listening(&mut self) {
        self.gate.stop_listening();
        for thread in self.threads.drain(..) {
            // Ignore a panic of the thread: in any case it has ended and accepts no connections.
            let _ = thread.join();
        }
    }

    /// Wait until all sessions have ended, or until the deadline.
    pub fn wait_for_sessions(&self, deadline: Instant) {
        while self.gate.sessions() > 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.gate.finish_refusals();
    }
}

/// Wait for a connection at a listening socket; `None` once the server stops.
pub(crate) fn wait(gate: &Gate, listener: impl AsFd) -> Option<()> {
    loop {
        let mut fds = [
            PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(gate.stop(), PollFlags::IN),
        ];
        // After an interruption no descriptor is ready, and the loop waits again.
        let _ = poll(&mut fds, None);
        if !fds[1].revents().is_empty() {
            return None;
        }
        if !fds[0].revents().is_empty() {
            return Some(());
        }
    }
}

/// Accept connections at one address until the server stops.
fn listen(gate: &Arc<Gate>, service: &Arc<impl Service>, listener: &Listener) {
    while let Some(()) = wait(gate, listener) {
        let transport = listener
            .accept()
            .and_then(|transport| match listener.is_tls() {
                true => gate.encrypted(transport),
                false => Ok(transport),
            });
        let started = transport.and_then(|transport| start(gate, service, transport));
        if started.is_err() {
            std::thread::sleep(RETRY);
        }
    }
}

/// Serve the connection of a client on its own thread. If no thread can be started, the connection
/// is closed, and the client can try again.
fn start(gate: &Gate, service: &Arc<impl Service>, transport: Transport) -> Result<()> {
    let slot = gate.unauthenticated.enter(&transport)?;
    let service = Arc::clone(service);
    let thread = std::thread::Builder::new().name("session".into());
    let thread = thread.spawn(move || service.serve(slot, transport));
    let thread = thread.map_err(|error| Error::system("a thread for a new socket", error));
    thread.map(drop)
}
