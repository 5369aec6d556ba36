//! Claim of a worker on a unit of work: a file that names the worker, so that no other worker does the same
//! unit.

use super::name::Name;
use super::plain::{TRIES, retry_stale};
use super::state::{ClaimFile, claim_state, read_claim};
use super::worker::{Line, Own};
use super::{ClaimError, Worker, at, at_unit};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Interval and number of checks whether another worker has restored a claim file that it had moved.
const RESTORE_CHECKS: (Duration, u32) = (Duration::from_millis(1), 20);

/// The result of an attempt to claim a unit of work.
#[derive(Debug)]
pub enum Taken {
    /// This worker has claimed the unit.
    Granted(Claim),
    /// Name of the other worker that has claimed the unit; empty while its claim is being written.
    HeldBy(String),
}

/// A unit of work that this worker has claimed. Dropping the claim releases the unit.
#[derive(Debug)]
pub struct Claim {
    /// State of the worker to which the claim belongs.
    own: std::sync::Arc<Own>,
    /// Name of the claimed unit of work.
    unit: String,
    /// Path of the claim file.
    path: PathBuf,
    /// Time at which the worker claimed the unit of work.
    began: Instant,
}

impl Worker {
    /// Claim the unit of work `unit` for this worker, unless another worker with a heartbeat has claimed it.
    ///
    /// # Errors
    /// The folder cannot be written, or the claim of this unit cannot be read or is not a plain file. The
    /// latter error affects only [this unit](ClaimError::of_one_unit).
    pub fn take(&self, unit: &str) -> Result<Taken, ClaimError> {
        let own = &self.own;
        let path = own.folder.join(format!("{unit}.claim"));
        let mut holder = String::new();
        for _ in 0..TRIES {
            if create_claim(&path, &own.name).map_err(at(&path))? {
                return Ok(Taken::Granted(Claim {
                    own: std::sync::Arc::clone(own),
                    unit: unit.to_owned(),
                    path,
                    began: Instant::now(),
                }));
            }
            let Some(found) = unless_gone(read_claim(&path)).map_err(at_unit(&path))? else {
                continue;
            };
            let seen =
                claim_state(&own.folder, &found, Some(own.expiry)).map_err(at_unit(&path))?;
            // `own.now()` asks the file system for its time. Ask only if the decision depends on it.
            if !seen.dead && !seen.is_lost(own.now()?) {
                return Ok(Taken::HeldBy(found.text));
            }
            self.remove_lost(&path, &found).map_err(at_unit(&path))?;
            holder = found.text;
        }
        Ok(Taken::HeldBy(holder))
    }

    /// Remove the claim of a lost worker: move its file, check that it is the lost claim, and delete it. If
    /// another worker has replaced the claim meanwhile, restore the file.
    fn remove_lost(&self, path: &Path, lost: &ClaimFile) -> io::Result<()> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".{}", self.name()));
        let aside = PathBuf::from(aside);
        match fs::rename(path, &aside) {
            Err(error) if is_gone(&error) => return Ok(()),
            done => done?,
        }
        if retry_stale(|| read_claim(&aside))?.as_ref() != Some(lost) {
            // If a third worker has claimed the unit meanwhile, the restoration fails and two workers do the
            // same work.
            let _ = fs::hard_link(&aside, path);
        }
        match fs::remove_file(&aside) {
            Err(error) if is_gone(&error) => Ok(()),
            done => done,
        }
    }
}

impl Claim {
    /// Record in the worker's file that the unit of work is done and its result stored.
    ///
    /// # Errors
    /// The worker's file cannot be written. The unit counts as done nevertheless.
    pub fn done(self) -> Result<(), ClaimError> {
        self.own.add(&Line::Done {
            done: &self.unit,
            at_s: self.own.about_now_s(),
            took_s: self.began.elapsed().as_secs_f64(),
        })
    }

    /// Record in the worker's file the reason why the unit of work cannot be done.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn failed(self, reason: &str) -> Result<(), ClaimError> {
        self.own.add(&Line::Failed {
            failed: &self.unit,
            at_s: self.own.about_now_s(),
            reason,
        })
    }
}

impl Drop for Claim {
    /// Release the unit of work: remove the claim file, unless it belongs to another worker by now.
    fn drop(&mut self) {
        for _ in 0..RESTORE_CHECKS.1 {
            match unless_gone(retry_stale(|| read_claim(&self.path))) {
                Ok(Some(found)) if found.text.trim_end() == self.own.name.text => {
                    // Ignore an error: if the claim file stays, the claim is valid as long as this worker has a
                    // heartbeat.
                    let _ = fs::remove_file(&self.path);
                    return;
                }
                // Another worker considered the claim lost and moved its file. Wait until that worker has restored or
                // removed the file.
                Ok(None) => thread::sleep(RESTORE_CHECKS.0),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// Return whether the error means that a file no longer exists. Network file systems report `ESTALE` for a
/// file that another machine has just removed.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle
    )
}

/// Convert the error that a claim file no longer exists to `None`. Return all other results unchanged.
fn unless_gone(found: io::Result<Option<ClaimFile>>) -> io::Result<Option<ClaimFile>> {
    match found {
        Err(error) if is_gone(&error) => Ok(None),
        found => found,
    }
}

/// Create the claim file `path` with the name of a worker as its content. Return false if the file exists
/// already.
fn create_claim(path: &Path, name: &Name) -> io::Result<bool> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        file => file?,
    };
    file.write_all(format!("{}\n", name.text).as_bytes())
        .inspect_err(|_| {
            let _ = fs::remove_file(path);
        })?;
    Ok(true)
}
