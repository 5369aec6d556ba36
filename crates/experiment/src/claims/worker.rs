//! A worker (a process that computes points and searches) and its file, whose timestamp is the heartbeat of
//! the worker.

use super::name::Name;
use super::{ClaimError, at};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, futimens};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Number of heartbeats of a worker within the time after which it counts as lost.
const BEATS: u32 = 8;
/// Maximum interval between two heartbeats of a worker.
const BEAT_MAX: Duration = Duration::from_secs(5);

/// Return the interval between two heartbeats of a worker that counts as lost after the time `expiry` without
/// one.
#[must_use]
pub fn beat(expiry: Duration) -> Duration {
    (expiry / BEATS).min(BEAT_MAX)
}

/// A worker: a process that does units of work, such as points of a sweep, and shares them with other
/// processes through a folder. Its file there lists the units that it has finished, and stays after the
/// process ends.
#[derive(Debug)]
pub struct Worker {
    /// State that the worker shares with its heartbeat thread.
    pub(crate) own: Arc<Own>,
    /// Flag that stops the heartbeat thread, with the condition variable that wakes this thread.
    stopped: Arc<(Mutex<bool>, Condvar)>,
    /// Handle of the heartbeat thread.
    heart: Option<JoinHandle<()>>,
}

/// State that a worker shares with its heartbeat thread.
#[derive(Debug)]
pub(crate) struct Own {
    /// Folder with the claims and the files of the workers.
    pub folder: PathBuf,
    pub name: Name,
    /// Time without a heartbeat after which the claims of a worker are lost.
    pub expiry: Duration,
    /// The file of this worker.
    file: Mutex<File>,
    /// Time at which the worker started, by the clock of the folder's file system, in seconds since 1970.
    began_s: f64,
    /// Time at which the worker started, by the clock of its host.
    began: Instant,
}

/// One line of a worker's file, as JSON: the start of the worker, a finished unit of work or a failed one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Line<'a> {
    /// First line of a worker's file: the worker has started.
    Began {
        /// Name of the worker.
        worker: &'a str,
        /// Version of the program.
        version: &'a str,
        /// Time of the event, by the clock of the folder's file system, in seconds since 1970.
        at_s: f64,
        /// Time without a heartbeat after which the worker's claims are lost, in seconds.
        expiry_s: f64,
        /// Number of threads that do units of work.
        threads: usize,
    },
    /// A unit of work is done.
    Done {
        /// Name of the finished unit.
        done: &'a str,
        /// Time of the event, by the clock of the folder's file system, in seconds since 1970.
        at_s: f64,
        /// Time since the claim of the unit, in seconds.
        took_s: f64,
    },
    /// A unit of work has failed.
    Failed {
        /// Name of the failed unit.
        failed: &'a str,
        /// Time of the event, by the clock of the folder's file system, in seconds since 1970.
        at_s: f64,
        /// Reason why the unit failed.
        reason: &'a str,
    },
}

/// Fields of the first line of a worker's file, in JSON, that other processes read.
#[derive(Debug, Deserialize)]
pub(crate) struct Began {
    /// Time without a heartbeat after which the worker's claims are lost, in seconds.
    expiry_s: f64,
}

impl Began {
    /// Parse the text of a worker's file, and return the time without a heartbeat after which that worker
    /// counts as lost.
    pub fn stated(file: &str) -> Option<Duration> {
        let began: Self = serde_json::from_str(file.lines().next()?).ok()?;
        Duration::try_from_secs_f64(began.expiry_s).ok()
    }
}

impl Worker {
    /// Register this process as a worker in `folder`, and start its heartbeat. Claims of workers without a
    /// heartbeat for `expiry` are lost. The worker's file records `version`, the version of the program, and
    /// `threads`, the number of threads that do units of work.
    ///
    /// # Errors
    /// The folder cannot be written, or no thread can be started.
    pub fn new(
        folder: &Path,
        expiry: Duration,
        version: &str,
        threads: usize,
    ) -> Result<Self, ClaimError> {
        let name = Name::new();
        let path = folder.join(format!("{}.jsonl", name.text));
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).open(&path);
        let file = file.map_err(at(&path))?;
        let began = Instant::now();
        let stamped = renew_timestamp(&file).map_err(at(&path))?;
        let own = Arc::new(Own {
            folder: folder.to_owned(),
            name,
            expiry,
            file: Mutex::new(file),
            began_s: stamped.as_secs_f64(),
            began,
        });
        own.add(&Line::Began {
            worker: &own.name.text,
            version,
            at_s: own.began_s,
            expiry_s: expiry.as_secs_f64(),
            threads,
        })?;
        let stopped = Arc::new((Mutex::new(false), Condvar::new()));
        let heart = start_heartbeat(Arc::clone(&own), Arc::clone(&stopped)).map_err(at(&path))?;
        Ok(Self {
            own,
            stopped,
            heart: Some(heart),
        })
    }

    /// Return the worker's name: `worker-HOST-PID-` and 16 hexadecimal digits, as described in `name.rs`.
    pub fn name(&self) -> &str {
        &self.own.name.text
    }
}

impl Drop for Worker {
    /// Stop the heartbeat thread, and wait for its end.
    fn drop(&mut self) {
        let (stop, wake) = &*self.stopped;
        *stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        wake.notify_all();
        if let Some(heart) = self.heart.take() {
            // Ignore a panic of the heartbeat thread: it has stopped in any case.
            let _ = heart.join();
        }
    }
}

impl Own {
    /// Append a line to the worker's file.
    pub fn add(&self, line: &Line<'_>) -> Result<(), ClaimError> {
        let mut text = serde_json::to_string(line).expect("strings and numbers are JSON");
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        (file.write_all(text.as_bytes())).map_err(at(self.path(&self.name)))
    }

    /// Renew the timestamp of the worker's file, and return it: the current time by the clock of the folder's
    /// file system, since 1970.
    pub fn now(&self) -> Result<Duration, ClaimError> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        renew_timestamp(&file).map_err(at(self.path(&self.name)))
    }

    /// Return an estimate of the current time by the clock of the folder's file system, in seconds since
    /// 1970, without file access.
    pub fn about_now_s(&self) -> f64 {
        self.began_s + self.began.elapsed().as_secs_f64()
    }

    /// Return the path of the file of the worker `worker`.
    pub fn path(&self, worker: &Name) -> PathBuf {
        self.folder.join(format!("{}.jsonl", worker.text))
    }
}

/// Set the timestamps of a file to the current time, and return its modification time since 1970.
fn renew_timestamp(file: &File) -> io::Result<Duration> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    futimens(
        file,
        &Timestamps {
            last_access: now,
            last_modification: now,
        },
    )?;
    modified(file)
}

/// Return the time at which a file was last written or touched, since 1970.
pub(crate) fn modified(file: &File) -> io::Result<Duration> {
    let modified = file.metadata()?.modified()?;
    Ok(modified.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Start a thread that renews the timestamp of the worker's file at a fixed interval until `stopped` is set.
fn start_heartbeat(
    own: Arc<Own>,
    stopped: Arc<(Mutex<bool>, Condvar)>,
) -> io::Result<JoinHandle<()>> {
    let pause = beat(own.expiry);
    thread::Builder::new().name("claims".into()).spawn(move || {
        let (stop, wake) = &*stopped;
        let mut stop = stop.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stop {
            let waited = wake.wait_timeout_while(stop, pause, |stop| !*stop);
            (stop, _) = waited.unwrap_or_else(PoisonError::into_inner);
            // Renew the timestamp, and ignore a failure: a folder that cannot be reached now may be reachable at the
            // next heartbeat.
            let _ = own.now();
        }
    })
}
