//! Limits the number of threads that write the files of a driver, and assigns them slots in its
//! journal.

use super::journal::Journal;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of threads that write files of a driver, including threads that hang.
pub(super) const WRITERS_MAX: usize = 256;

/// A shared handle of the threads that write the files of a driver. The driver and each thread have
/// a copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers(Arc<(Mutex<Slots>, Condvar)>);

/// The slots of writing threads that are in use, and the journal of files.
#[derive(Debug, Default)]
struct Slots {
    taken: BTreeSet<usize>,
    journal: Option<Arc<Journal>>,
}

/// The slot of a writing thread. Dropping it frees the slot.
pub(super) struct Slot {
    writers: Writers,
    number: usize,
    journal: Option<Arc<Journal>>,
}

impl Writers {
    /// Returns the slots of the writing threads, locked.
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Uses this journal from now on to record which files are being written.
    pub fn keep_journal(&self, journal: Journal) {
        self.slots().journal = Some(Arc::new(journal));
    }

    /// Reserves a free slot for a writing thread. Returns None if all slots are in use.
    pub(super) fn enter(&self) -> Option<Slot> {
        let mut slots = self.slots();
        let number = (0..WRITERS_MAX).find(|number| !slots.taken.contains(number))?;
        slots.taken.insert(number);
        Some(Slot {
            writers: self.clone(),
            number,
            journal: slots.journal.clone(),
        })
    }

    /// Waits at most `most` until no writing threads are left. Returns whether none are left.
    pub fn wait(&self, most: Duration) -> bool {
        let some = |slots: &mut Slots| !slots.taken.is_empty();
        let waited = self.0.1.wait_timeout_while(self.slots(), most, some);
        let (slots, _) = waited.unwrap_or_else(PoisonError::into_inner);
        slots.taken.is_empty()
    }
}

impl Slot {
    /// Records in the journal, if there is one, that the thread writes the file at this path.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn note(&self, path: &Path) -> io::Result<()> {
        let journal = self.journal.as_ref();
        journal.map_or(Ok(()), |journal| journal.note(self.number, path))
    }
}

impl Drop for Slot {
    /// Lets another thread write files in this slot, and removes the path of this thread's file from the journal of
    /// files that are being written.
    fn drop(&mut self) {
        if let Some(journal) = &self.journal {
            journal.clear(self.number);
        }
        self.writers.slots().taken.remove(&self.number);
        self.writers.0.1.notify_all();
    }
}
