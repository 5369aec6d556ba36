//! Claims on units of work in a folder that many processes and machines share.
//!
//! A [`Worker`] is a process that does units of work, each known by a name. It keeps a file of its
//! own, which it touches again and again for as long as it lives, and to which it adds a line for
//! each unit that it has done or given up. Before it starts a unit it [takes](Worker::take) it: a
//! file `UNIT.claim` that names the worker, made by one process only. A claim is lost once its worker
//! has not touched its file for a stated time: its own, or the shorter one of another worker that wants
//! the unit. It is also lost if its worker was a process of this host that has ended. Another worker may
//! take over a unit whose claim is lost.
//!
//! All times are those of the folder's file system, as it stamps files, so that clocks of machines
//! may differ. A claim keeps work from being done twice and protects nothing: a worker that was cut
//! off from the folder for long, and comes back, finds another one at its unit, or its unit
//! done. What two workers write for a unit must therefore be the same.

mod claim;
mod look;
mod name;
mod plain;
mod worker;

pub use claim::{Claim, Taken};
pub use look::{Seen, look};
pub use name::Name;
pub use plain::retry_stale;
pub use worker::{Worker, beat};

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use thiserror::Error;

/// A file of the folder cannot be used.
#[derive(Debug, Error)]
#[error("{path}: {error}; {}", remedy(error))]
pub struct ClaimError {
    /// Which file.
    pub path: PathBuf,
    /// What the system says.
    #[source]
    pub error: io::Error,
    /// Whether it is about one claim, so that all other units may be done.
    pub of_one_unit: bool,
}

/// What may help.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, and give the command again"
        }
        _ => "claims need a folder that can be written, and plain files in it",
    }
}

/// What may go wrong with `path`.
fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ClaimError {
    let path = path.into();
    move |error| ClaimError {
        path,
        error,
        of_one_unit: false,
    }
}

/// What may go wrong with `path`, which others have made there for one unit.
fn at_unit(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ClaimError {
    let path = path.into();
    move |error| ClaimError {
        path,
        // A folder without room, or that nobody may write, is so for all.
        of_one_unit: !matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem
        ),
        error,
    }
}
