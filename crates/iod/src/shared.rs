//! The state that all sessions of the daemon share.

use crate::cache::{Cache, File, Folder};
use crate::config::Config;
use crate::directories::ReadAhead;
use crate::export::Export;
use crate::objects::{Bucket, Objects, SCHEME};
use crate::open::Open;
use crate::sessions::Sessions;
use isthmus_daemon::{Gate, open_directory};
use isthmus_forward::Limits;
use isthmus_forward::message::DaemonStatus;
use isthmus_wire::{Error, Result};
use rustix::fs::{OFlags, Statx};
use std::path::{Path, PathBuf};
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

    /// Open the exported directories and buckets, and the cache. Clients can have `open_files_limit` files open at a time.
    ///
    /// # Errors
    /// An export that cannot be opened, a bucket without a cache, or a folder of the cache that cannot be used.
    pub fn new(config: &Config, gate: Arc<Gate>, open_files_limit: usize) -> Result<Self> {
        let timeout = config.store_timeout;
        let (buckets, directories): (Vec<_>, Vec<_>) =
            config.exports.iter().partition(|given| is_bucket(given));
        let paths = directories.into_iter().map(|given| real_path(given));
        let folder = match (&config.cache, buckets.first()) {
            (Some(cache), _) => Some(Folder::open(cache, &paths.collect::<Result<Vec<_>>>()?)?),
            (None, None) => None,
            (None, Some(bucket)) => {
                let text = "a bucket requires a cache: add --cache DIR";
                let text = format!("--export {}: {text}", bucket.display());
                return Err(Error::Config(text));
            }
        };
        let open = |given: &PathBuf| match folder.as_ref().filter(|_| is_bucket(given)) {
            Some(folder) => open_bucket(given, folder, timeout, &gate),
            None => open_export(given),
        };
        let exports = config
            .exports
            .iter()
            .map(|given| Ok(Arc::new(open(given)?)));
        let exports: Vec<_> = exports.collect::<Result<_>>()?;
        let cache = match (&config.cache, folder) {
            (Some(cache), Some(folder)) => {
                let (cache, gate) = (cache.clone(), Arc::clone(&gate));
                Some(Arc::new(Cache::open_in(
                    cache, folder, timeout, &exports, gate,
                )?))
            }
            _ => None,
        };
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

/// Return whether an export is the URL of a bucket.
fn is_bucket(given: &Path) -> bool {
    given
        .as_os_str()
        .as_encoded_bytes()
        .starts_with(SCHEME.as_bytes())
}

/// Return the error of an export that the system has refused.
fn failed(given: &Path, error: std::io::Error) -> Error {
    Error::system(format!("--export {}", given.display()), error)
}

/// Return the path of an exported directory without symbolic links.
fn real_path(given: &Path) -> Result<PathBuf> {
    given.canonicalize().map_err(|error| failed(given, error))
}

/// Open an exported directory.
fn open_export(given: &Path) -> Result<Export> {
    let path = real_path(given)?;
    let root = open_directory(&path).map_err(|error| failed(given, error.into()))?;
    let absolute = std::path::absolute(given).map_err(|error| failed(given, error))?;
    let export = Export::open([absolute, path], root, None);
    export.map_err(|error| failed(given, error.into()))
}

/// Open an exported bucket, with the tree in the folder of the cache that shows its objects.
fn open_bucket(
    given: &Path,
    folder: &Folder,
    timeout: Duration,
    gate: &Arc<Gate>,
) -> Result<Export> {
    let url = given.to_string_lossy();
    let url = url.trim_end_matches('/');
    let objects = Objects::new(Bucket::open(url, timeout, Arc::clone(gate))?);
    let root = folder
        .tree(url)
        .map_err(|error| failed(given, error.into()))?;
    let path = PathBuf::from(url);
    let export = Export::open([path.clone(), path], root, Some(objects));
    export.map_err(|error| failed(given, error.into()))
}
