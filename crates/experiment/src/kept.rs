//! Partial results of an unfinished point or search: the replications of a point, or the trials of a search.
//!
//! A run that is interrupted within a long point resumes from them. They are in one file of the journal. The
//! file is replaced as a whole after enough new work, and removed when the point or search is finished. A
//! partial result is read back bit for bit, so a resumed run gives the same result.

use crate::envelope::Entry;
use crate::journal::{Journal, JournalError};
use crate::replication::Halt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Default of the computing time after which new partial results are written to the journal file.
const AFTER: Duration = Duration::from_secs(5);
/// Partial results whose computation took less than `AFTER / SHARE` are not stored, because there may be
/// many.
const SHARE: u32 = 64;
/// Maximum total size in bytes of the partial results of a point or search; further ones are not stored.
const BYTES_MAX: usize = 64 << 20;

/// Return the current time, from which to measure the computing time of a partial result. This time decides
/// only whether the partial result is stored. It never affects a result.
pub(crate) fn stopwatch() -> Instant {
    Instant::now()
}

/// The partial results of one unfinished point or search, stored in the journal. A partial result is a
/// replication of the point or a trial of the search.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    journal: &'a Journal,
    /// Journal entry that contains the partial results.
    entry: Entry,
    /// Computing time of new partial results after which they are written to the file.
    after: Duration,
    state: Mutex<State>,
}

/// The partial results of a point or search, and the state of their file.
#[derive(Debug, Default)]
struct State {
    /// JSON of each partial result, by the number of the replication or trial.
    parts: BTreeMap<u64, Box<RawValue>>,
    /// Total size of `parts` in bytes.
    bytes: usize,
    /// Computing time of the partial results that are not in the file yet.
    unkept: Duration,
    /// Whether the file of the partial results exists.
    filed: bool,
    /// First error that occurred when the file of the partial results was written.
    error: Option<JournalError>,
}

impl<'a> Kept<'a> {
    /// Read the partial results of a point or search from the journal. There are none if the journal has no
    /// folder.
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

    /// Return the partial result with this number, if it is stored. Return `None` if it cannot be
    /// deserialised, for example because of an invalid number; the caller then computes it again.
    pub fn part<T: DeserializeOwned>(&self, number: u64) -> Option<T> {
        let state = self.state();
        serde_json::from_str(state.parts.get(&number)?.get()).ok()
    }

    /// Store the partial result `number`, whose computation took `took`. It replaces an earlier one with this
    /// number. The file is written now or together with later partial results.
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

    /// Write the partial results that are not in the file yet. Call this when the run stops.
    pub fn flush(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        if state.unkept.is_zero() {
            return Ok(());
        }
        self.write_file(&mut state)
    }

    /// Write all partial results to their file in the journal.
    fn write_file(&self, state: &mut State) -> Result<(), JournalError> {
        self.journal.write(&self.entry, &state.parts, true)?;
        state.unkept = Duration::ZERO;
        state.filed = true;
        Ok(())
    }

    /// Remove and return the error that prevented the storage of a partial result, if any.
    pub fn error(&self) -> Option<JournalError> {
        self.state().error.take()
    }

    /// Remove all partial results and their file.
    pub fn clear(&self) -> Result<(), JournalError> {
        if self.state().filed {
            self.journal.remove(&self.entry)?;
        }
        Ok(())
    }

    /// Lock and return the partial results and the state of their file.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
