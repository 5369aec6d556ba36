//! The state that all sessions of the daemon share.

use crate::cache::{Cache, File};
use crate::config::{CacheConfig, Config};
use crate::directories::ReadAhead;
use crate::export::Export;
use crate::open::Open;
use crate::sessions::Sessions;
use isthmus_daemon::{Gate, open_directory};
use isthmus_forward::Limits;
use isthmus_forward::message::DaemonStatus;
use isthmus_wire::{Error, Result};
use rustix::fs::{OFlags, Statx};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Counters of the daemon.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Requests of clients.
    pub requests: AtomicU64,
    /// Requests that failed.
    pub failed: AtomicU64,
    /// Bytes that clients have read.
    pub read: AtomicU64,
    /// Bytes that clients have written.
    pub written: AtomicU64,
    /// Clients that were not admitted.
    pub refused: AtomicU64,
    /// Requests that have failed because the store made no progress.
    pub timed_out: AtomicU64,
}

/// The state of the daemon.
#[derive(Debug)]
pub(crate) struct Shared {
    pub gate: Arc<Gate>,
    pub exports: Vec<Arc<Export>>,
    pub cache: Option<Arc<Cache>>,
    pub read_only: bool,
    pub allow_plain: bool,
    pub limits: Limits,
    pub store_timeout: Duration,
    pub counters: Counters,
    /// The number of open files of all clients, and its limit.
    pub open_files: AtomicUsize,
    pub open_files_limit: usize,
    /// The number of requests that wait for the store, and of the bytes in them.
    pub deferred: AtomicUsize,
    pub deferred_bytes: AtomicUsize,
    pub sessions: Arc<Sessions>,
    pub ahead: ReadAhead,
    pub started: Instant,
}

impl Shared {
    /// Return the state of the daemon.
    pub fn status(&self) -> DaemonStatus {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let status = DaemonStatus {
            up_ms: ms(self.started.elapsed()),
            clients: self.gate.sessions().into(),
            open_files: self.open_files.load(Ordering::Relaxed) as u64,
            read: count(&self.counters.read),
            written: count(&self.counters.written),
            ..DaemonStatus::default()
        };
        let Some(cache) = &self.cache else {
            return status;
        };
        let (settings, of) = (cache.settings(), cache.status());
        DaemonStatus {
            has_cache: 1,
            cache_bytes: settings.bytes,
            dirty_bytes: settings.dirty_bytes,
            files: of.files as u64,
            bytes: of.bytes,
            unstored: of.unstored,
            unstored_files: of.unstored_files as u64,
            failed_files: of.failed_files as u64,
            oldest_ms: ms(of.oldest),
            stored: of.stored,
            rate: of.rate,
            hits: of.hits,
            misses: of.misses,
            ..status
        }
    }

    /// Return the flags with which a file is opened in the store: with a cache, the daemon itself cuts,
    /// appends and syncs.
    pub fn store_flags(&self, flags: OFlags) -> OFlags {
        let own = OFlags::TRUNC | OFlags::APPEND | OFlags::SYNC | OFlags::DSYNC;
        match self.cache {
            Some(_) => flags - own,
            None => flags,
        }
    }

    /// Return the cached file that has this state in the store, with the cache.
    pub fn cached(&self, open: Option<&Open>, status: &Statx) -> Option<(&Cache, Arc<File>)> {
        let cache = self.cache.as_deref()?;
        let file = match open.and_then(|open| open.cached.as_ref()) {
            // It may have no name any more.
            Some(cached) => Arc::clone(&cached.file),
            None => cache.find(status)?,
        };
        Some((cache, file))
    }

    /// Open the exported directories. Clients can have `open_files_limit` files open at a time.
    ///
    /// # Errors
    /// A directory that does not exist or cannot be opened.
    pub fn new(config: &Config, gate: Arc<Gate>, open_files_limit: usize) -> Result<Self> {
        let mut exports = Vec::new();
        for given in &config.exports {
            let what = || format!("--export {}", given.display());
            let failed = |error: std::io::Error| Error::system(what(), error);
            let path = given.canonicalize().map_err(failed)?;
            let root = open_directory(&path).map_err(|error| failed(error.into()))?;
            let given = std::path::absolute(given).map_err(failed)?;
            let export = Export::open([given, path], root);
            let export = export.map_err(|error| failed(error.into()))?;
            exports.push(Arc::new(export));
        }
        let timeout = config.store_timeout;
        let open = |cache: &CacheConfig| {
            Cache::open_folder(cache.clone(), timeout, &exports, Arc::clone(&gate))
        };
        let cache = config.cache.as_ref().map(open).transpose()?.map(Arc::new);
        Ok(Self {
            cache,
            gate,
            exports,
            read_only: config.read_only,
            allow_plain: config.allow_plain,
            limits: config.limits,
            store_timeout: config.store_timeout,
            counters: Counters::default(),
            open_files: AtomicUsize::new(0),
            open_files_limit,
            deferred: AtomicUsize::new(0),
            deferred_bytes: AtomicUsize::new(0),
            sessions: Arc::default(),
            ahead: ReadAhead::default(),
            started: Instant::now(),
        })
    }
}
