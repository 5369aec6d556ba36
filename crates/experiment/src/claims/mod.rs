//! Claims on units of work in a folder that many processes and machines share.
//!
//! A [`Worker`] is a process that does units of work, such as points of a sweep. Each unit has a name. The
//! worker has a file of its own. It touches this file at a fixed interval while it lives, and adds a line for
//! each unit that it has finished or abandoned. Before it starts a unit it [claims](Worker::take) the unit:
//! it creates a file `UNIT.claim` that names the worker. Only one process can create that file. A claim is
//! lost (invalid) once its worker has not touched the worker's file for a stated time. This is the time
//! stated by that worker, or the shorter one of another worker that wants the unit. A claim is also lost if
//! its worker was a process of this host that has ended. Another worker may take over a unit whose claim is
//! lost.
//!
//! All times are file timestamps of the folder's file system, so that the clocks of machines may differ. A
//! claim only avoids duplicate work; it does not protect the result. A worker that could not reach the folder
//! for a long time may find that another worker has claimed or finished its unit. Two workers must therefore
//! write the same result for a unit.

mod claim;
mod name;
mod plain;
mod state;
mod worker;

pub use claim::{Claim, Taken};
pub use name::Name;
pub use plain::retry_stale;
pub use state::{ClaimState, read_claim_state};
pub use worker::{Worker, beat};

use std::io::{self, ErrorKind};
use std::path::PathBuf;
use thiserror::Error;

/// Error when a file of the shared folder is read or written.
#[derive(Debug, Error)]
#[error("{path}: {error}; {}", remedy(error))]
pub struct ClaimError {
    /// Path of the file.
    pub path: PathBuf,
    /// Error of the operating system.
    #[source]
    pub error: io::Error,
    /// Whether the error affects only one unit of work, so that all other units can be done.
    pub of_one_unit: bool,
}

/// Return advice for the user on how to fix the error.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, and give the command again"
        }
        _ => "claims need a folder that can be written, and plain files in it",
    }
}

/// Return a function that adds `path`, the path of a file of the folder, to an I/O error.
fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ClaimError {
    let path = path.into();
    move |error| ClaimError {
        path,
        error,
        of_one_unit: false,
    }
}

/// Return a function that adds `path`, the path of a file of one unit, to an I/O error.
fn at_unit(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> ClaimError {
    let path = path.into();
    move |error| ClaimError {
        path,
        // Treat the error as one of all units if the folder is full or read-only.
        of_one_unit: !matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem
        ),
        error,
    }
}
