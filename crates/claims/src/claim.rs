//! The claim on a unit of work.

use crate::name::Name;
use crate::worker::{Line, Own, stamp};
use crate::{ClaimError, Worker, at};
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Most bytes of a claim that are read: a worker's name and a line's end.
const CLAIM_MAX: u64 = 256;
/// How often a claim is looked at again that changed hands meanwhile.
const TRIES: u32 = 8;

/// What came of taking a unit.
#[derive(Debug)]
pub enum Taken {
    /// It is ours.
    Ours(Claim),
    /// Another worker is at it: its name, empty where it is just being written.
    Theirs(String),
}

/// A unit of work that is this worker's; given back when it is dropped.
#[derive(Debug)]
pub struct Claim {
    own: std::sync::Arc<Own>,
    unit: String,
    path: PathBuf,
    began: Instant,
}

/// What a claim in the folder says, and when it was made.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    text: String,
    made: Duration,
}

impl Worker {
    /// Takes the unit of that name, unless a worker that lives has it.
    ///
    /// # Errors
    /// The folder cannot be written, or the claim is no plain file.
    pub fn take(&self, unit: &str) -> Result<Taken, ClaimError> {
        let own = &self.own;
        let path = own.folder.join(format!("{unit}.claim"));
        let mut holder = String::new();
        for _ in 0..TRIES {
            if made(&path, &own.name).map_err(at(&path))? {
                return Ok(Taken::Ours(Claim {
                    own: std::sync::Arc::clone(own),
                    unit: unit.to_owned(),
                    path,
                    began: Instant::now(),
                }));
            }
            let Some(found) = found(&path).map_err(at(&path))? else {
                continue;
            };
            if !own.is_lost(&found)? {
                return Ok(Taken::Theirs(found.text));
            }
            self.take_away(&path, &found).map_err(at(&path))?;
            holder = found.text;
        }
        Ok(Taken::Theirs(holder))
    }

    /// Removes a claim that is lost. Of several that do so at once, one removes it; another one may by
    /// then hold the claim that was made in its place, and gives that back.
    fn take_away(&self, path: &Path, lost: &Found) -> io::Result<()> {
        let mut aside = path.as_os_str().to_owned();
        aside.push(format!(".{}", self.name()));
        let aside = PathBuf::from(aside);
        match fs::rename(path, &aside) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            done => done?,
        }
        if found(&aside)?.as_ref() != Some(lost) {
            // If there is a third one by now, two do the same work.
            let _ = fs::hard_link(&aside, path);
        }
        fs::remove_file(&aside)
    }
}

impl Own {
    /// Whether whoever has made a claim is taken to be gone.
    fn is_lost(&self, claim: &Found) -> Result<bool, ClaimError> {
        let expired =
            |touched: Duration| (self.now()).map(|now| now.saturating_sub(touched) > self.expiry);
        let Some(name) = Name::parsed(claim.text.trim_end()) else {
            // Cut short, or not written yet.
            return expired(claim.made);
        };
        if name.is_dead() {
            return Ok(true);
        }
        let path = self.path(&name);
        // Opened, since network file systems look anew at what is opened.
        match plain(&path).and_then(|file| file.map(|file| stamp(&file)).transpose()) {
            Ok(touched) => expired(touched.unwrap_or(claim.made)),
            Err(error) => Err(at(path)(error)),
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
        let ours = |found: Found| found.text.trim_end() == self.own.name.text;
        if found(&self.path).is_ok_and(|found| found.is_some_and(ours)) {
            // If it cannot be removed it is lost when this worker is.
            let _ = fs::remove_file(&self.path);
        }
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

/// What a claim says; none if it is not there.
fn found(path: &Path) -> io::Result<Option<Found>> {
    let Some(file) = plain(path)? else {
        return Ok(None);
    };
    let made = stamp(&file)?;
    let mut bytes = Vec::new();
    file.take(CLAIM_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(Found { text, made }))
}

/// A plain file, no link followed; none if nothing is there.
fn plain(path: &Path) -> io::Result<Option<File>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags as i32).open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a plain file"));
    }
    Ok(Some(file))
}
