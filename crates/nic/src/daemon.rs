//! The daemon: listens, lets sessions in, ends.

use crate::address::{Address, Listener};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::hub::Hub;
use crate::leftovers::{self, Writing};
use crate::log::Log;
use crate::metrics;
use crate::roots::Roots;
use crate::session;
use crate::shared::Shared;
use crate::tls::Certificate;
use crate::wire::Wire;
use isthmus_framebuffer::{Page, Screens};
use isthmus_nic_protocol::Event;
use isthmus_stream_net::{Driver, Service, advised};
use rustix::event::{PollFd, PollFlags, poll};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long connections that are closed may take to send and write what is left.
const LINGER: Duration = Duration::from_secs(6);

/// How long sessions may take to read their last lines.
const LEAVE: Duration = Duration::from_secs(3);

/// A daemon that runs. Dropped, it ends without grace.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    service: Option<Service>,
    threads: Vec<JoinHandle<()>>,
    addresses: Vec<Address>,
    metrics: Option<SocketAddr>,
    page: Option<Page>,
    /// Removed when all else has ended.
    _writing: Option<Writing>,
}

impl Daemon {
    /// Starts it.
    ///
    /// # Errors
    /// A configuration that cannot be; an address that is taken; a system without descriptors or
    /// threads.
    pub fn start(mut config: Config) -> Result<Self> {
        config.check()?;
        let (policy, roots) = config.policy.settled()?;
        config.policy = policy;
        let tls = config.certificate.as_ref().map(Certificate::load);
        let tls = tls.transpose()?;
        let bound = config
            .listen
            .iter()
            .map(|at| Listener::bind(at, config.socket_mode));
        let bound: Vec<_> = bound.collect::<Result<_>>()?;
        let metrics = config.metrics.map(|at| {
            let what = |error| Error::system(format!("listening for metrics at {at}"), error);
            let listener = TcpListener::bind(at).map_err(advised).map_err(what)?;
            let at = listener.local_addr().map_err(what)?;
            Ok::<_, Error>((listener, at))
        });
        let metrics = metrics.transpose()?;
        let mut driver = Driver::new(config.manager())?;
        let page = config.screens.map(|at| Page::serve(Screens::new(), at));
        let page = page.transpose();
        let page = page.map_err(|error| Error::Config(error.to_string()))?;
        let screens = page.as_ref().map(|page| page.screens().clone());
        if let Some(screens) = &screens {
            driver.give_screens(Box::new(screens.clone()));
        }
        let log = Log::start(&config.log)?;
        let tokens = std::mem::take(&mut config.tokens);
        let writing = keep_journal(&roots, &driver, &log);
        let hub = Arc::new(Hub::new(config, roots, log, screens));
        let hears = Arc::clone(&hub);
        let tell = move |driver: &mut Driver, event| hears.heard(driver, event);
        let service = Service::start_with(driver, tell)?;
        let shared = Arc::new(Shared::new(hub, service.client(), tls, tokens)?);
        let mut daemon = Self {
            shared,
            service: Some(service),
            threads: Vec::new(),
            addresses: Vec::new(),
            page,
            metrics: metrics.as_ref().map(|(_, at)| *at),
            _writing: writing,
        };
        if let Some((listener, _)) = metrics {
            daemon.spawn("nic-metrics", move |shared| {
                metrics::serve(shared, &listener)
            })?;
        }
        for (listener, address) in bound {
            daemon.log(&address.to_string(), "listen", "ok");
            daemon.spawn("nic-listen", move |shared| listen(shared, &listener))?;
            daemon.addresses.push(address);
        }
        Ok(daemon)
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(&Arc<Shared>) + Send + 'static,
    ) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || work(&shared));
        let thread = thread.map_err(|error| Error::system("a thread that listens", error))?;
        self.threads.push(thread);
        Ok(())
    }

    fn log(&self, who: &str, what: &str, result: &str) {
        self.shared.hub.log.say(who, what, result);
    }

    /// Opens the log's file again, after it was moved away, and reads the tokens and the certificate,
    /// which may be new. What cannot be read is logged, and the old one is used on. Who is in stays.
    pub fn reload(&self) {
        self.shared.hub.log.reopen();
        // Reading may take its time; who comes meanwhile shows the old ones.
        let tokens = self.shared.tokens().clone();
        let read = tokens.reread().map(|read| *self.shared.tokens() = read);
        self.log_reload("tokens", read);
        if let Some(certificate) = &self.shared.hub.config.certificate {
            let read = certificate.load().map(|tls| self.shared.show(tls));
            self.log_reload("certificate", read);
        }
    }

    fn log_reload(&self, what: &str, read: Result<()>) {
        let said = read
            .err()
            .map_or_else(|| "ok".to_owned(), |error| error.to_string());
        self.log("daemon", what, &said);
    }

    /// Where screens are shown.
    #[must_use]
    pub fn page(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(Page::address)
    }

    /// Where Prometheus asks.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Where it listens, with ports as they are.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Whether the stream manager runs; if not, [`Daemon::stop`] says why.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.shared.client.call(|_| ()).is_ok()
    }

    /// Ends it: nothing new is taken; streams go on for the time of grace, then they are cancelled;
    /// what is sent and written still may take some seconds more. Returns as soon as nothing is
    /// left.
    ///
    /// # Errors
    /// Why the stream manager had ended before.
    pub fn stop(mut self) -> Result<()> {
        let grace = self.shared.hub.config.grace;
        self.end(grace)
    }

    fn end(&mut self, grace: Duration) -> Result<()> {
        let Some(service) = self.service.take() else {
            return Ok(());
        };
        self.shared.hub.state().ending = true;
        self.log("daemon", "end", &format!("grace {grace:?}"));
        self.shared.end();
        for thread in self.threads.drain(..) {
            // One that panicked listens no more either.
            let _ = thread.join();
        }
        self.announce(grace);
        let until = Instant::now() + grace;
        self.wait(until, |driver| {
            let manager = driver.manager();
            let over = |id| manager.status(id).is_ok_and(|status| status.over);
            manager.streams().all(over)
        });
        self.dismiss();
        let until = Instant::now() + LINGER.min(grace.saturating_mul(2));
        self.wait(until, |driver| driver.is_quiet());
        let until = Instant::now() + LEAVE.min(grace.saturating_mul(2));
        while self.shared.sessions() > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.shared.end_refusals();
        let stopped = service.stop();
        let result = stopped.as_ref().err().map(ToString::to_string);
        self.log("daemon", "ended", result.as_deref().unwrap_or("ok"));
        self.shared.hub.log.end();
        Ok(stopped?)
    }

    fn announce(&self, grace: Duration) {
        let state = self.shared.hub.state();
        let grace_ns = u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX);
        for app in state.apps.keys() {
            state.tell(*app, Event::Ending { grace_ns });
        }
    }

    /// Waits until something is so, or until then.
    fn wait(&self, until: Instant, wanted: impl Fn(&mut Driver) -> bool + Copy + Send + 'static) {
        while let Ok(false) = self.shared.client.call(move |driver| wanted(driver)) {
            if Instant::now() >= until {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends all applications.
    fn dismiss(&self) {
        let hub = Arc::clone(&self.shared.hub);
        // Without a driver there are none.
        let _ = self.shared.client.call(move |driver| {
            let mut state = hub.state();
            state.refuse_waiters();
            let apps: Vec<_> = state.apps.keys().copied().collect();
            for app in apps {
                state.remove(driver, app);
            }
        });
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Why it had ended was there to be asked for.
        let _ = self.end(Duration::ZERO);
    }
}

/// Removes what daemons left that were killed, and notes what is written from now on. Where this
/// cannot be done the daemon works without it.
fn keep_journal(roots: &Roots, driver: &Driver, log: &Log) -> Option<Writing> {
    let directory = roots.first()?;
    match leftovers::clean(directory, roots) {
        Ok(removed) => removed
            .iter()
            .for_each(|path| log.say("daemon", "remove", path)),
        Err(error) => log.say("daemon", "remove", &error.to_string()),
    }
    let writing = directory
        .try_clone()
        .map_err(|error| Error::system("a directory", error));
    let writing = writing.and_then(Writing::begin);
    match writing.and_then(|writing| Ok((writing.journal()?, writing))) {
        Ok((journal, writing)) => {
            driver.keep_journal(journal);
            Some(writing)
        }
        Err(error) => {
            log.say("daemon", "journal", &error.to_string());
            None
        }
    }
}

/// Lets sockets in until the daemon ends.
fn listen(shared: &Arc<Shared>, listener: &Listener) {
    loop {
        let mut fds = [
            PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(shared.stop(), PollFlags::IN),
        ];
        // Interrupted or not, it is looked at again.
        let _ = poll(&mut fds, None);
        if !fds[1].revents().is_empty() {
            return;
        }
        if fds[0].revents().is_empty() {
            continue;
        }
        let wire = match listener {
            Listener::Unix(listener, _) => match listener.accept() {
                Ok((socket, _)) => Wire::unix(socket),
                Err(error) => Err(Error::system("accepting", error)),
            },
            Listener::Tcp(listener) => match listener.accept() {
                Ok((socket, address)) => Ok(Wire::tcp(socket, address)),
                Err(error) => Err(Error::system("accepting", error)),
            },
            Listener::Tls(listener) => match listener.accept() {
                Ok((socket, address)) => shared.hide(Wire::tcp(socket, address)),
                Err(error) => Err(Error::system("accepting", error)),
            },
        };
        if wire.and_then(|wire| receive(shared, wire)).is_err() {
            // Descriptors and threads may be there again soon.
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A thread of its own for a socket.
fn receive(shared: &Arc<Shared>, wire: Wire) -> Result<()> {
    let place = shared.strangers.enter(&wire)?;
    let shared = Arc::clone(shared);
    let thread = std::thread::Builder::new().name("nic-session".into());
    let thread = thread.spawn(move || session::run(&shared, place, wire));
    // Without a thread the socket is closed, and its client tries again.
    let thread = thread.map_err(|error| Error::system("a thread for a new socket", error));
    thread.map(drop)
}
