//! Finished parts of a point or search that is not finished: its replications, as long as they were at the
//! last look, and its trials.
//!
//! They lie in one file beside the entry, sealed as entries are, which is replaced as a whole once
//! enough work has come to it, and removed when the entry is there. What is read is bit for bit what
//! was computed, so that the result is too.

use crate::envelope::Entry;
use crate::journal::{Journal, JournalError};
use crate::replication::Halt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Work that is worth a file.
const AFTER: Duration = Duration::from_secs(5);
/// A part that took less than this share of it is not kept: there would be many.
const SHARE: u32 = 64;
/// Bytes of all parts together that are kept at most; those that come later are not.
const BYTES_MAX: usize = 64 << 20;

/// Begins to measure how much work a part is: that decides what is kept, and nothing that is computed.
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
    /// JSON of each part, by number.
    parts: BTreeMap<u64, Box<RawValue>>,
    bytes: usize,
    /// Work on parts that are not in the file.
    unkept: Duration,
    /// Whether there is a file.
    filed: bool,
    error: Option<JournalError>,
}

impl<'a> Kept<'a> {
    /// What is kept of that entry; nothing is where the journal has no folder.
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

    /// A part that is kept. The file is as it was written: what cannot be read all the same, such as
    /// a number that is none, is computed again.
    pub fn part<T: DeserializeOwned>(&self, number: u64) -> Option<T> {
        let state = self.state();
        serde_json::from_str(state.parts.get(&number)?.get()).ok()
    }

    /// Keeps a part that took so long, now or together with later ones, in place of the one of this
    /// number.
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
        self.file(&mut state).map_err(|error| {
            state.error.get_or_insert(error);
            Halt::Unkept
        })
    }

    /// Writes what has been finished since the file was written: the run is stopped.
    pub fn flush(&self) -> Result<(), JournalError> {
        let mut state = self.state();
        if state.unkept.is_zero() {
            return Ok(());
        }
        self.file(&mut state)
    }

    fn file(&self, state: &mut State) -> Result<(), JournalError> {
        self.journal.write(&self.entry, &state.parts, true)?;
        state.unkept = Duration::ZERO;
        state.filed = true;
        Ok(())
    }

    /// Why something could not be kept.
    pub fn error(&self) -> Option<JournalError> {
        self.state().error.take()
    }

    /// Keeps nothing any more.
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
