//! Starts, reloads and stops the daemon of the stream manager.

use crate::config::Config;
use crate::error::Result;
use crate::leftovers::{self, WriteJournal};
use crate::shared::Shared;
use crate::state::Hub;
use isthmus_daemon::{Listeners, Log, Roots, Server};
use isthmus_framebuffer::{Page, Screens};
use isthmus_nic_protocol::Event;
use isthmus_stream_net::{Driver, Service};
use isthmus_wire::Address;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that the daemon, when it ends, gives closed connections to send or write their remaining
/// data.
const LINGER: Duration = Duration::from_secs(6);

/// Time that the daemon, when it ends, gives clients to read the last lines on their sockets.
const LEAVE: Duration = Duration::from_secs(3);

/// A running daemon of the stream manager. Dropping it ends it without a grace period.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    server: Server,
    service: Option<Service>,
    page: Option<Page>,
    /// The journal of the files that are being written. The daemon keeps it until everything else
    /// has ended; then it is removed.
    _writing: Option<WriteJournal>,
}

impl Daemon {
    /// Start a daemon.
    ///
    /// # Errors
    /// An invalid configuration; an address in use; no descriptors or threads left.
    pub fn start(mut config: Config) -> Result<Self> {
        config.check()?;
        let (policy, roots) = config.policy.resolved()?;
        config.policy = policy;
        let listeners = Listeners::bind(config.server.clone())?;
        let gate = listeners.gate();
        let mut driver = Driver::new(config.manager())?;
        let page = config.screens.map(|at| Page::serve(Screens::new(), at));
        let page = page.transpose();
        let page = page.map_err(|error| isthmus_wire::Error::Config(error.to_string()))?;
        let screens = page.as_ref().map(|page| page.screens().clone());
        if let Some(screens) = &screens {
            driver.set_screens(Box::new(screens.clone()));
        }
        let writing = keep_journal(&roots, &driver, gate.log());
        let hub = Arc::new(Hub::new(config, roots, Arc::clone(gate), screens));
        let observer = Arc::clone(&hub);
        let on_event = move |driver: &mut Driver, event| observer.handle(driver, event);
        let service = Service::start_with(driver, on_event)?;
        let client = service.client();
        let shared = Arc::new(Shared { hub, client });
        Ok(Self {
            server: listeners.serve(&shared)?,
            shared,
            service: Some(service),
            page,
            _writing: writing,
        })
    }

    /// Append a line to the audit log: the client `who`, its request `what`, and the result.
    fn log(&self, who: &str, what: &str, result: &str) {
        self.shared.hub.log().record(who, what, result);
    }

    /// Open the log again after it was moved away, and read the tokens and the certificate again.
    /// If that fails, the daemon logs the error and continues with the old value. Sessions
    /// continue.
    pub fn reload(&self) {
        self.server.reload();
    }

    /// Return the address of the web page that shows the applications' screens, if there is one.
    #[must_use]
    pub fn page(&self) -> Option<SocketAddr> {
        self.page.as_ref().map(Page::address)
    }

    /// Return the address at which the metrics can be read, if there is one.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.server.metrics()
    }

    /// Return the addresses at which the daemon listens, with their actual ports.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        self.server.addresses()
    }

    /// Return whether the stream manager runs. If not, [`Daemon::stop`] returns the reason.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.shared.client.call(|_| ()).is_ok()
    }

    /// End the daemon. It refuses new requests, and cancels streams that are still active after the
    /// grace period. Remaining data may take some seconds more. Returns as soon as all data is sent
    /// and written.
    ///
    /// # Errors
    /// The error with which the stream manager had already ended.
    pub fn stop(mut self) -> Result<()> {
        let grace = self.shared.hub.config.grace;
        self.end(grace)
    }

    /// End the daemon as [`Daemon::stop`] does, with this grace period.
    fn end(&mut self, grace: Duration) -> Result<()> {
        let Some(service) = self.service.take() else {
            return Ok(());
        };
        self.shared.hub.state().ending = true;
        self.log("daemon", "end", &format!("grace {grace:?}"));
        self.server.stop_listening();
        self.announce(grace);
        let until = Instant::now() + grace;
        self.wait(until, |driver| {
            let manager = driver.manager();
            let over = |id| manager.status(id).is_ok_and(|status| status.over);
            manager.streams().all(over)
        });
        self.remove_applications();
        let until = Instant::now() + LINGER.min(grace.saturating_mul(2));
        self.wait(until, |driver| driver.is_quiet());
        let until = Instant::now() + LEAVE.min(grace.saturating_mul(2));
        self.server.wait_for_sessions(until);
        let stopped = service.stop();
        let result = stopped.as_ref().err().map(ToString::to_string);
        self.log("daemon", "ended", result.as_deref().unwrap_or("ok"));
        self.shared.hub.log().stop();
        Ok(stopped?)
    }

    /// Notify all sessions that the daemon ends after this grace period.
    fn announce(&self, grace: Duration) {
        let state = self.shared.hub.state();
        let grace_ns = u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX);
        for app in state.apps.keys() {
            state.notify(*app, Event::Ending { grace_ns });
        }
    }

    /// Wait until the condition `wanted` holds, at most until `until`.
    fn wait(&self, until: Instant, wanted: impl Fn(&mut Driver) -> bool + Copy + Send + 'static) {
        while let Ok(false) = self.shared.client.call(move |driver| wanted(driver)) {
            if Instant::now() >= until {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Refuse all waiting requests and remove all applications, because the daemon ends.
    fn remove_applications(&self) {
        let hub = Arc::clone(&self.shared.hub);
        // The call fails only if the driver thread has ended; then there are no applications.
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
    /// End the daemon without a grace period.
    fn drop(&mut self) {
        // Ignore an error, because `drop` cannot return it. `stop` does.
        let _ = self.end(Duration::ZERO);
    }
}

/// Remove the unfinished files that killed daemons left, and start a new journal. If this fails,
/// the daemon works without a journal.
fn keep_journal(roots: &Roots, driver: &Driver, log: &Log) -> Option<WriteJournal> {
    let directory = roots.first()?;
    match leftovers::clean(directory, roots) {
        Ok(removed) => removed
            .iter()
            .for_each(|path| log.record("daemon", "remove", path)),
        Err(error) => log.record("daemon", "remove", &error.to_string()),
    }
    let writing = directory
        .try_clone()
        .map_err(|error| isthmus_wire::Error::system("a directory", error));
    let writing = writing.and_then(WriteJournal::begin);
    match writing.and_then(|writing| Ok((writing.journal()?, writing))) {
        Ok((journal, writing)) => {
            driver.keep_journal(journal);
            Some(writing)
        }
        Err(error) => {
            log.record("daemon", "journal", &error.to_string());
            None
        }
    }
}
