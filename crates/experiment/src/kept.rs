//! Finished parts of an unfinished point or search: its replications, up to their last look, and its trials.
//!
//! They are in one file beside the entry, sealed like entries. The file is replaced as a whole once enough
//! new work has been finished, and removed when the entry is complete. A part is read back bit for bit as it
//! was computed, so the result is the same.

use crate::envelope::Entry;
use crate::journal::{Journal, JournalError};
use crate::replication::Halt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Duration of new work after which the file is written.
const AFTER: Duration = Duration::from_secs(5);
/// A part that took less than 1/`SHARE` of that time is not kept, as there may be many such parts.
const SHARE: u32 = 64;
/// Largest total size of all parts in bytes; later parts are not kept.
const BYTES_MAX: usize = 64 << 20;

/// Start to measure the duration of a part. It decides only whether the part is kept, never its result.
pub(crate) fn stopwatch() -> Instant {
    Instant::now()
}

/// The finished parts of one point or search.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    journal: &'a Journal,
    entry: Entry,
    after: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// JSON of each part, by part number.
    parts: BTreeMap<u64, Box<RawValue>>,
    bytes: usize,
    /// Duration of the work on parts that are not in the file yet.
    unkept: Duration,
    /// Whether the file exists.
    filed: bool,
    error: Option<JournalError>,
}

impl<'a> Kept<'a> {
    /// Read the kept parts of an entry; there are none if the journal has no folder.
    pub fn open(
        journal: &'a Journal,
        of: &Entry,
        after: Option<Duration>,
    ) -> Result<Self, JournalError> {
        let entry = of.kept();
        let parts: Option<BTreeMap<u64, Box<RawValue>>> = match journal.folder() {
            Some(_) => journal.read(&entry)?,
            None => None,
        };
        let filed = parts.is_some();
        let parts = parts.unwrap_or_default();
        let bytes = parts.values().map(|part| part.get().len()).sum();
        Ok(Self {
            journal,
            entry,
            after: after.unwrap_or(AFTER),
            state: Mutex::new(State {
                parts,
                bytes,
                filed,
                ..State::default()
            }),
        })
    }

    /// Return a part that was kept. A part that cannot be deserialised, such as one with an invalid number,
    /// is computed again.
    pub fn part<T: DeserializeOwned>(&self, number: u64) -> Option<T> {
        let state = self.state();
        serde_json::from_str(state.parts.get(&number)?.get()).ok()
    }

    /// Keep a part that took `work`, in place of an earlier part with this number. It is written now or
    /// together with later parts.
    pub fn keep<T: Serialize>(
        &self,
        number: u64,
        took: Duration,
        part: impl FnOnce() -> Option<T>,
    ) -> Result<(), Halt> {
        if self.journal.folder().is_none() || took < self.after / SHARE {
            return Ok(());
        }
        let Some(part) = part() else {
            return Ok(());
        };
        let part = serde_json::value::to_raw_value(&part).expect("finished parts are JSON");
        let mut state = self.state();
        let before = state.parts.get(&number).map_or(0, |part| part.get().len());
        let bytes = state.bytes - before + part.get().len();
        if bytes > BYTES_MAX {
            return Ok(());
        }
        state.bytes = bytes;
        state.parts.insert(number, part);
        state.unkept += took;
        if state.unkept < self.after {
            return Ok(());
        }
        self.write_file(&mut state).map_err(|error| {
            state.error.get_or_insert(error);
            Halt::Unkept
        })
    }

    /// Write the parts that were finished after the last write, because the run stops.
    pub fn flush(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        if state.unkept.is_zero() {
            return Ok(());
        }
        self.write_file(&mut state)
    }

    fn write_file(&self, state: &mut State) -> Result<(), JournalError> {
        self.journal.write(&self.entry, &state.parts, true)?;
        state.unkept = Duration::ZERO;
        state.filed = true;
        Ok(())
    }

    /// Return the error if a part could not be kept.
    pub fn error(&self) -> Option<JournalError> {
        self.state().error.take()
    }

    /// Remove all parts and the file.
    pub fn clear(&self) -> Result<(), JournalError> {
        if self.state().filed {
            self.journal.remove(&self.entry)?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
