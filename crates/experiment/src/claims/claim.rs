//! The claim on a unit of work.

use super::look::{Found, found, seen};
use super::name::Name;
use super::plain::{TRIES, retry_stale};
use super::worker::{Line, Own};
use super::{ClaimError, Worker, at, at_unit};
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is looked whether a claim that is not there is put back, and how many times.
const BACK: (Duration, u32) = (Duration::from_millis(1), 20);

/// The result of taking a unit.
#[derive(Debug)]
pub enum Taken {
    /// The unit is this worker's.
    Granted(Claim),
    /// Another worker has it: its name, empty while the claim is being written.
    HeldBy(String),
}

/// A unit of work that is this worker's; given back when it is dropped.
#[derive(Debug)]
pub struct Claim {
    own: std::sync::Arc<Own>,
    unit: String,
    path: PathBuf,
    began: Instant,
}

impl Worker {
    /// Take the unit of that name, unless a live worker has it.
    ///
    /// # Errors
    /// The folder cannot be written; or, [of this unit](ClaimError::of_one_unit), its claim cannot be read or is no plain
    /// file.
    pub fn take(&self, unit: &str) -> Result<Taken, ClaimError> {
        let own = &self.own;
        let path = own.folder.join(format!("{unit}.claim"));
        let mut holder = String::new();
        for _ in 0..TRIES {
            if made(&path, &own.name).map_err(at(&path))? {
                return Ok(Taken::Granted(Claim {
                    own: std::sync::Arc::clone(own),
                    unit: unit.to_owned(),
                    path,
                    began: Instant::now(),
                }));
            }
            let Some(found) = now_or_gone(found(&path)).map_err(at_unit(&path))? else {
                continue;
            };
            let seen = seen(&own.folder, &found, Some(own.expiry)).map_err(at_unit(&path))?;
            // The time is asked for only where it decides.
            if !seen.dead && !seen.is_lost(own.now()?) {
                return Ok(Taken::HeldBy(found.text));
            }
            self.take_away(&path, &found).map_err(at_unit(&path))?;
            holder = found.text;
        }
        Ok(Taken::HeldBy(holder))
    }

    /// Removes a claim that is lost. Of several that do so at once, one removes it; another one may by
    /// then hold the claim that was made in its place, and gives that back.
    fn take_away(&self, path: &Path, lost: &Found) -> io::Result<()> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".{}", self.name()));
        let aside = PathBuf::from(aside);
        match fs::rename(path, &aside) {
            Err(error) if is_gone(&error) => return Ok(()),
            done => done?,
        }
        if retry_stale(|| found(&aside))?.as_ref() != Some(lost) {
            // If there is a third one by now, two do the same work.
            let _ = fs::hard_link(&aside, path);
        }
        match fs::remove_file(&aside) {
            Err(error) if is_gone(&error) => Ok(()),
            done => done,
        }
    }
}

impl Claim {
    /// The unit is done and its result is kept: says so in the worker's file.
    ///
    /// # Errors
    /// The file cannot be written; the unit is done all the same.
    pub fn done(self) -> Result<(), ClaimError> {
        self.own.add(&Line::Done {
            done: &self.unit,
            at_s: self.own.about_now_s(),
            took_s: self.began.elapsed().as_secs_f64(),
        })
    }

    /// The unit cannot be done: says why in the worker's file.
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
    fn drop(&mut self) {
        for _ in 0..BACK.1 {
            match now_or_gone(retry_stale(|| found(&self.path))) {
                Ok(Some(found)) if found.text.trim_end() == self.own.name.text => {
                    // If it cannot be removed it is lost when this worker is.
                    let _ = fs::remove_file(&self.path);
                    return;
                }
                // Put aside by one who took it for a lost one, and may put it back; or taken away.
                Ok(None) => thread::sleep(BACK.0),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// Whether a file is not there any more: network file systems say so of one that another machine has just removed.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle
    )
}

/// What was found, if it is there still.
fn now_or_gone(found: io::Result<Option<Found>>) -> io::Result<Option<Found>> {
    match found {
        Err(error) if is_gone(&error) => Ok(None),
        found => found,
    }
}

/// Makes a claim; false if there is one.
fn made(path: &Path, name: &Name) -> io::Result<bool> {
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
