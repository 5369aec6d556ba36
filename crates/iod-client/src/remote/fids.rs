//! The fids of files that a program uses by their paths, and how they are found again.

use crate::connection::ROOT;
use crate::error::Result;
use crate::link::{Memory, Recalled};
use isthmus_forward::Errno;
use isthmus_forward::message::Request;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The first error of the requests that make a fid: those after it fail for this reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Made(Arc<OnceLock<Errno>>);

impl Made {
    /// Record that a request that makes the fid has failed.
    pub fn fail(&self, errno: Errno) {
        // Only the first error counts.
        let _ = self.0.set(errno);
    }

    /// Return the result of a request that uses the fid, or the error for which there is no fid.
    pub fn check<T>(&self, result: std::result::Result<T, Errno>) -> std::result::Result<T, Errno> {
        match self.0.get() {
            Some(errno) => Err(*errno),
            None => result,
        }
    }
}

/// A fid, and how its file is found again.
#[derive(Debug, Default)]
struct Held {
    made: Made,
    recalled: Option<Recalled>,
}

#[derive(Debug)]
struct Table {
    held: HashMap<u32, Held>,
    free: Vec<u32>,
    last: u32,
}

/// The fids of a program.
pub(super) struct Fids {
    table: Mutex<Table>,
    /// Called with a line of text when the daemon is gone, and when it is back.
    report: Box<dyn Fn(&str) + Send + Sync>,
}

impl Fids {
    /// Create the table without fids but that of the root.
    pub fn new(report: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        let table = Table {
            held: HashMap::from([(ROOT, Held::default())]),
            free: Vec::new(),
            last: ROOT,
        };
        Self {
            table: Mutex::new(table),
            report,
        }
    }

    /// Return the table, locked. No request may be sent meanwhile.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return a fid that is not in use.
    pub fn add(&self) -> (u32, Made) {
        let mut table = self.table();
        let fid = table.free.pop().unwrap_or(table.last + 1);
        table.last = table.last.max(fid);
        let made = Made::default();
        let held = Held {
            made: made.clone(),
            recalled: None,
        };
        table.held.insert(fid, held);
        (fid, made)
    }

    /// Return how the requests that make a fid have ended. Fails with `EBADF` for a fid that is not in use.
    pub fn made(&self, fid: u32) -> std::result::Result<Made, Errno> {
        let table = self.table();
        let held = table.held.get(&fid).ok_or(Errno::BADF)?;
        Ok(held.made.clone())
    }

    /// Record that a fid could not be made.
    pub fn fail(&self, fid: u32, errno: Errno) {
        if let Some(held) = self.table().held.get(&fid) {
            held.made.fail(errno);
        }
    }

    /// Record how the file of a fid is found again.
    pub fn found(&self, fid: u32, recalled: Recalled) {
        if let Some(held) = self.table().held.get_mut(&fid) {
            held.recalled = Some(recalled);
        }
    }

    /// Record when the file of a fid was created.
    pub fn set_created(&self, fid: u32, created: (u64, u32)) {
        let mut table = self.table();
        let held = table.held.get_mut(&fid);
        if let Some(recalled) = held.and_then(|held| held.recalled.as_mut()) {
            recalled.created = created;
        }
    }

    /// Record that the daemon has forgotten a fid.
    pub fn remove(&self, fid: u32) {
        let mut table = self.table();
        if table.held.remove(&fid).is_some() {
            table.free.push(fid);
        }
    }

    /// Record that a file or folder has another path.
    pub fn renamed(&self, old: &[u8], new: &[u8]) {
        for held in self.table().held.values_mut() {
            let path = held.recalled.as_mut().map(|recalled| &mut recalled.path);
            if let Some(path) = path
                && let Some(rest) = path.strip_prefix(old)
                && (rest.is_empty() || rest.starts_with(b"/"))
            {
                *path = [new, rest].concat();
            }
        }
    }
}

impl Memory for Fids {
    fn recall(&self, fid: u32) -> Option<Recalled> {
        self.table().held.get(&fid)?.recalled.clone()
    }

    /// Do nothing: these programs have no locks.
    fn lock_again(&self, _: &mut dyn FnMut(u32, &Request<'_>) -> Result<bool>) -> Result<()> {
        Ok(())
    }

    fn is_lost(&self, _: u32) -> bool {
        false
    }

    fn report(&self, text: &str) {
        (self.report)(text);
    }
}
