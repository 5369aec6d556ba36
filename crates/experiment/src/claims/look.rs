//! What a claim says, and when it is lost: the one rule, for who takes units and who only looks.

use super::name::Name;
use super::plain::{head, plain, retry_stale};
use super::worker::{Began, stamp};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Most bytes of a claim that are read: a worker's name and a line's end.
const CLAIM_MAX: u64 = 256;
/// Most bytes of the first line of a worker's file.
const BEGAN_MAX: u64 = 1024;

/// Taken by who only looks, where a worker has stated none.
const UNSTATED: Duration = Duration::from_secs(60);

/// What a claim in the folder says, and when it was made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub text: String,
    pub made: Duration,
}

/// A claim as one sees it who only looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Who has made it; none where that was cut short, or is just being written.
    pub name: Option<Name>,
    /// Whether that is a process of this host which is no more.
    pub dead: bool,
    /// Its last heartbeat by the folder's time, since 1970.
    pub touched: Duration,
    /// The time without a heartbeat after which it is lost.
    pub expiry: Duration,
}

impl Seen {
    /// Return whether the worker that made it counts as lost at `now`, a time of the folder.
    pub fn is_lost(&self, now: Duration) -> bool {
        self.dead || now.saturating_sub(self.touched) > self.expiry
    }
}

/// What the claim on that unit says; none if there is none. It is lost after the time that its worker states.
///
/// # Errors
/// It, or the file of its worker, cannot be read or is no plain file.
pub fn look(folder: &Path, unit: &str) -> io::Result<Option<Seen>> {
    let claim = retry_stale(|| found(&folder.join(format!("{unit}.claim"))))?;
    claim.map(|claim| seen(folder, &claim, None)).transpose()
}

/// Return the state of a claim and of its worker. The claim is lost after the time that the worker states; for a worker
/// that wants the unit, after `own` if that is less.
pub(crate) fn seen(folder: &Path, claim: &Found, own: Option<Duration>) -> io::Result<Seen> {
    let mut seen = Seen {
        name: Name::parsed(claim.text.trim_end()),
        dead: false,
        touched: claim.made,
        expiry: own.unwrap_or(UNSTATED),
    };
    if let Some(name) = &seen.name {
        seen.dead = name.is_dead();
        let path = folder.join(format!("{}.jsonl", name.text));
        // Opened, since network file systems look again at a file that is opened.
        let worker = retry_stale(|| {
            let Some(file) = plain(&path)? else {
                return Ok(None);
            };
            Ok(Some((stamp(&file)?, head(file, BEGAN_MAX)?)))
        })?;
        if let Some((touched, began)) = worker {
            seen.touched = touched;
            let times = Began::stated(&began).into_iter().chain(own);
            seen.expiry = times.min().unwrap_or(seen.expiry);
        }
    }
    Ok(seen)
}

/// What a claim says; none if it is not there.
pub(crate) fn found(path: &Path) -> io::Result<Option<Found>> {
    let Some(file) = plain(path)? else {
        return Ok(None);
    };
    let made = stamp(&file)?;
    let text = head(file, CLAIM_MAX)?;
    Ok(Some(Found { text, made }))
}
