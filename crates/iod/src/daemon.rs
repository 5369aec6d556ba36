//! Starts, reloads and stops the I/O daemon.

use crate::cache::{Cache, CacheStatus};
use crate::config::Config;
use crate::service::Iod;
use crate::shared::Shared;
use isthmus_daemon::{Listeners, Server};
use isthmus_wire::{Address, Error, Result};
use rustix::fs::Mode;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that clients have to read the last replies, after their connections are closed for reading.
const LEAVE: Duration = Duration::from_secs(1);

/// A running I/O daemon. Dropping it ends it without a grace period.
#[derive(Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    server: Server,
    grace: Duration,
    found: Option<CacheStatus>,
    is_stopped: bool,
}

impl Daemon {
    /// Start a daemon.
    ///
    /// The mask for the permissions of new files is that of each client, so the mask of this process
    /// is cleared.
    ///
    /// # Errors
    /// An invalid configuration; a directory that cannot be exported; an address in use; no
    /// descriptors or threads left.
    pub fn start(config: Config) -> Result<Self> {
        config.check()?;
        let mut open_files = descriptors(config.server.sessions)?;
        if config.cache.is_some() {
            // One in the cache, two in the store.
            open_files /= 3;
        }
        let listeners = Listeners::bind(config.server.clone())?;
        let shared = Arc::new(Shared::new(
            &config,
            Arc::clone(listeners.gate()),
            open_files,
        )?);
        let found = shared.cache.as_ref().map(|cache| cache.status());
        if let Some(cache) = &shared.cache {
            let what = "starting the threads of the cache";
            Cache::start(cache).map_err(|error| Error::system(what, error))?;
        }
        rustix::process::umask(Mode::empty());
        Ok(Self {
            server: listeners.serve(&Arc::new(Iod(Arc::clone(&shared))))?,
            shared,
            grace: config.grace,
            found,
            is_stopped: false,
        })
    }

    /// Open the log again after it was moved away, and read the tokens and the certificate again.
    /// If that fails, the daemon logs the error and continues with the old value.
    pub fn reload(&self) {
        self.server.reload();
    }

    /// Return the addresses at which the daemon listens, with their actual ports.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        self.server.addresses()
    }

    /// Return the address at which the metrics can be read, if there is one.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.server.metrics()
    }

    /// Return the state of the cache when the daemon started: what the last one has left; `None` without a cache.
    #[must_use]
    pub fn found(&self) -> Option<CacheStatus> {
        self.found
    }

    /// Return the state of the cache; `None` without one.
    #[must_use]
    pub fn cache(&self) -> Option<CacheStatus> {
        self.shared.cache.as_ref().map(|cache| cache.status())
    }

    /// End the daemon. It answers the requests that have arrived; clients that do not read the
    /// replies within the grace period lose their connections. A cache is drained for as long as the grace
    /// period. Return its state then: what is not stored stays in its folder, for the next daemon.
    pub fn stop(mut self) -> Option<CacheStatus> {
        self.end(self.grace);
        self.cache()
    }

    /// End the daemon with this grace period.
    fn end(&mut self, grace: Duration) {
        if std::mem::replace(&mut self.is_stopped, true) {
            return;
        }
        let log = self.shared.gate.log();
        log.record("daemon", "end", &format!("grace {grace:?}"));
        self.server.stop_listening();
        if let Some(cache) = self.shared.cache.as_ref().filter(|_| grace.is_zero()) {
            cache.halt();
        }
        self.shared.sessions.end();
        self.server.wait_for_sessions(Instant::now() + grace);
        self.shared.sessions.close();
        self.server.wait_for_sessions(Instant::now() + LEAVE);
        if let Some(cache) = &self.shared.cache {
            cache.stop(grace);
        }
        log.record("daemon", "ended", "ok");
        log.stop();
    }
}

impl Drop for Daemon {
    /// End the daemon without a grace period.
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}

/// Number of descriptors of a session: its socket twice, and the signal that wakes its thread.
const SESSION_DESCRIPTORS: u64 = 3;

/// Number of descriptors that the daemon keeps for itself and for requests by name.
const OWN_DESCRIPTORS: u64 = 256;

/// Raise the limit of descriptors as far as this process may. Return how many open files that leaves for
/// clients, with these many sessions.
fn descriptors(sessions: u32) -> Result<usize> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without the right to raise it, the limit stays.
    let _ = setrlimit(Resource::Nofile, limit);
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let taken = u64::from(sessions) * SESSION_DESCRIPTORS + OWN_DESCRIPTORS;
    match most.checked_sub(taken) {
        Some(left) if left > 0 => Ok(usize::try_from(left).unwrap_or(usize::MAX)),
        _ => Err(Error::Config(format!(
            "--sessions {sessions}: takes {taken} descriptors, and this process may have {most}: give \
             fewer, or raise the limit (ulimit -n)"
        ))),
    }
}
