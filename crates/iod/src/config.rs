//! Settings of the I/O daemon.

use isthmus_forward::Limits;
use isthmus_forward::cache::Settings;
use isthmus_wire::{Address, Error, Result};
use std::path::PathBuf;
use std::time::Duration;

/// Where data of a file is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Its data is with the kernel of this host.
    Written,
    /// Its data is synced in the cache.
    Cached,
    /// Its data is synced in the store.
    Stored,
}

/// The configuration of the cache of an I/O daemon.
#[derive(Clone, Debug)]
pub struct CacheConfig {
    /// The folder of the cache, on a file system of this host.
    pub folder: PathBuf,
    /// Its bounds.
    pub settings: Settings,
    /// Where data is safe when `fsync` is answered: in the store or in the cache.
    pub fsync: Level,
    /// Where data is safe when a file is closed: in the store, or with this host's kernel.
    pub close: Level,
    /// The time for which a file at a path is read from the cache without asking the store again.
    pub fresh: Duration,
}

impl CacheConfig {
    /// Create the configuration of a cache in a folder, with default bounds.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            settings: Settings::default(),
            fsync: Level::Stored,
            close: Level::Written,
            fresh: Duration::ZERO,
        }
    }
}

/// The configuration of an I/O daemon.
#[derive(Clone, Debug)]
pub struct Config {
    /// Settings of the server: addresses at which it listens, admission of clients, and logs.
    pub server: isthmus_daemon::Config,
    /// The exported directories and buckets (`s3://BUCKET/PREFIX`). A client names one by its path or URL; without a
    /// name it gets the first.
    pub exports: Vec<PathBuf>,
    /// Whether clients may only read.
    pub read_only: bool,
    /// Whether clients without a token are admitted over TCP from this machine: kernels and the
    /// tools of diod know no tokens.
    pub allow_plain: bool,
    /// The cache between clients and store; `None` without one.
    pub cache: Option<CacheConfig>,
    /// What one client may have at a time.
    pub limits: Limits,
    /// Time after which a request fails that waits for the store, if the store has made no progress.
    pub store_timeout: Duration,
    /// Time for which clients may go on after a request to end the daemon.
    pub grace: Duration,
}

impl Config {
    /// Create the configuration of a daemon that exports a directory at these addresses, with
    /// default limits.
    #[must_use]
    pub fn new(listen: Vec<Address>, exports: Vec<PathBuf>) -> Self {
        Self {
            server: isthmus_daemon::Config::new(listen),
            exports,
            read_only: false,
            allow_plain: false,
            cache: None,
            limits: Limits::default(),
            store_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }

    /// Check that the settings fit together.
    pub(crate) fn check(&self) -> Result<()> {
        if self.exports.is_empty() {
            let text = "--export: a daemon needs a directory to export, such as /scratch/job";
            return Err(Error::Config(text.into()));
        }
        let listen = &self.server.listen;
        let is_tcp = |at: &&Address| matches!(at, Address::Tcp(_));
        if self.allow_plain && !listen.iter().any(|at| is_tcp(&at)) {
            let text = "--allow-plain: no tcp: address is given; add --listen tcp:127.0.0.1:5640 or \
                        leave out --allow-plain";
            return Err(Error::Config(text.into()));
        }
        if self.server.tokens.clients.is_some() {
            return Ok(());
        }
        for at in listen {
            let (who, or) = match at {
                Address::Unix(_) if self.server.socket_mode & 0o007 == 0 => continue,
                Address::Unix(_) => ("every user of this machine", ", or --socket-mode 660"),
                Address::Tcp(_) if self.allow_plain => continue,
                Address::Tcp(_) => (
                    "every user of this machine",
                    ", or --allow-plain to admit all users",
                ),
                // TLS authenticates the daemon, not the client.
                Address::Tls(_) => ("every host that reaches it", ""),
            };
            return Err(Error::Config(format!(
                "--listen {at}: {who} can connect; give --token-file for clients that show a token{or}"
            )));
        }
        Ok(())
    }
}
