//! State of a claim on a unit of work: which worker made it, and whether that worker is lost.

use super::name::Name;
use super::plain::{open_plain, read_head, retry_stale};
use super::worker::{Began, modified};
use std::io;
use std::path::Path;
use std::time::Duration;

/// Maximum number of bytes that are read from a claim file, which contains the name of a worker and a line
/// end.
const CLAIM_MAX: u64 = 256;
/// Maximum number of bytes that are read from a worker's file to parse its first line.
const BEGAN_MAX: u64 = 1024;

/// Time without a heartbeat after which a worker counts as lost, if its file does not state this time.
const UNSTATED: Duration = Duration::from_secs(60);

/// Content of a claim file, and its modification time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClaimFile {
    /// Content of the claim file: the name of a worker.
    pub text: String,
    /// Modification time of the claim file, since 1970.
    pub made: Duration,
}

/// State of a claim on a unit of work, and of the worker that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimState {
    /// Name of the worker that made the claim; `None` if the claim file is incomplete.
    pub name: Option<Name>,
    /// Whether the worker that made the claim was a process of this host that has ended.
    pub dead: bool,
    /// Time of the worker's last heartbeat, by the clock of the folder's file system, since 1970.
    pub touched: Duration,
    /// Time without a heartbeat of the worker after which the claim is lost.
    pub expiry: Duration,
}

impl ClaimState {
    /// Return whether the worker that made the claim counts as lost at the time `now` of the folder's file
    /// system.
    pub fn is_lost(&self, now: Duration) -> bool {
        self.dead || now.saturating_sub(self.touched) > self.expiry
    }
}

/// Return the state of the claim on the unit of work `unit`; `None` if there is no claim. The claim is lost
/// after the time without a heartbeat that its worker states.
///
/// # Errors
/// The claim or the file of its worker cannot be read or is not a plain file.
pub fn read_claim_state(folder: &Path, unit: &str) -> io::Result<Option<ClaimState>> {
    let claim = retry_stale(|| read_claim(&folder.join(format!("{unit}.claim"))))?;
    claim
        .map(|claim| claim_state(folder, &claim, None))
        .transpose()
}

/// Return the state of a claim and of its worker. The claim is lost after a time without a heartbeat: the
/// time that its worker states, or `own`, the time set by a worker that wants to take over the unit, if that
/// is shorter.
pub(crate) fn claim_state(
    folder: &Path,
    claim: &ClaimFile,
    own: Option<Duration>,
) -> io::Result<ClaimState> {
    let mut seen = ClaimState {
        name: Name::parsed(claim.text.trim_end()),
        dead: false,
        touched: claim.made,
        expiry: own.unwrap_or(UNSTATED),
    };
    if let Some(name) = &seen.name {
        seen.dead = name.is_dead();
        let path = folder.join(format!("{}.jsonl", name.text));
        // Open the file, because network file systems refresh the attributes of a file that is opened.
        let worker = retry_stale(|| {
            let Some(file) = open_plain(&path)? else {
                return Ok(None);
            };
            Ok(Some((modified(&file)?, read_head(file, BEGAN_MAX)?)))
        })?;
        if let Some((touched, began)) = worker {
            seen.touched = touched;
            let times = Began::stated(&began).into_iter().chain(own);
            seen.expiry = times.min().unwrap_or(seen.expiry);
        }
    }
    Ok(seen)
}

/// Read the claim file `path`; return `None` if it does not exist.
pub(crate) fn read_claim(path: &Path) -> io::Result<Option<ClaimFile>> {
    let Some(file) = open_plain(path)? else {
        return Ok(None);
    };
    let made = modified(&file)?;
    let text = read_head(file, CLAIM_MAX)?;
    Ok(Some(ClaimFile { text, made }))
}
