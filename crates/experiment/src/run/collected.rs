//! A result as JSON; that of a run of which nothing is left to do is put together from what the journal holds.

use super::Experiment;
use crate::envelope::Entry;
use crate::error::RunError;
use crate::journal::JournalError;
use rayon::prelude::*;
use std::sync::PoisonError;

/// A text in pieces that stand one after another: whoever wants it in one piece says where that is, so that hundreds of
/// megabytes are copied once.
#[derive(Debug, Default)]
pub struct Pieces(Vec<Vec<u8>>);

impl Pieces {
    /// Its bytes.
    pub fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Whether there is no byte of it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes all of it.
    ///
    /// # Panics
    /// Where it is to be written has not [`Pieces::len`] bytes.
    pub fn write(&self, mut to: &mut [u8]) {
        for piece in &self.0 {
            let (here, rest) = to.split_at_mut(piece.len());
            here.copy_from_slice(piece);
            to = rest;
        }
        assert!(to.is_empty(), "room for more than there is");
    }

    /// All of it in one piece.
    pub fn whole(&self) -> Vec<u8> {
        self.0.concat()
    }
}

/// How a result ends that has no points and no searches.
const NOTHING: &[u8] = b"\"points\":[],\"searches\":[]}";

impl Experiment {
    /// Runs, and gives the result as JSON. Where the journal has all of it, these are the bytes that were written there.
    ///
    /// # Errors
    /// As [`Experiment::run`].
    pub fn run_to_json(&self) -> Result<Pieces, RunError> {
        let known = (self.finished.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // Others may have done the rest since, and given it to this journal.
        let known = match known {
            Some(json) => Some(json),
            None => self.collected()?,
        };
        if let Some(json) = known {
            self.progress.set_all_done();
            return Ok(json);
        }
        let result = self.run()?;
        let json = serde_json::to_vec(&result).expect("results are JSON");
        Ok(Pieces(vec![json]))
    }

    /// The result from the journal's bytes; `None` if an entry is missing.
    pub(super) fn collected(&self) -> Result<Option<Pieces>, JournalError> {
        if !self.missing()?.is_empty() {
            return Ok(None);
        }
        let nothing = self.result(Vec::new(), Vec::new());
        let mut json = serde_json::to_vec(&nothing).expect("results are JSON");
        assert!(
            json.ends_with(NOTHING),
            "points and searches are the last fields"
        );
        json.truncate(json.len() - NOTHING.len());
        let mut pieces = vec![json];
        let points: Vec<&Entry> = self.points.iter().map(|job| &job.entry).collect();
        let searches: Vec<&Entry> = self.searches.iter().map(|job| &job.entry).collect();
        for (name, entries) in [("\"points\":[", points), (",\"searches\":[", searches)] {
            pieces.push(name.into());
            for (at, content) in self.contents(&entries)?.into_iter().enumerate() {
                // Removed since it was looked for.
                let Some(content) = content else {
                    return Ok(None);
                };
                if at > 0 {
                    pieces.push(b",".into());
                }
                pieces.push(content);
            }
            pieces.push(b"]".into());
        }
        pieces.push(b"}".into());
        Ok(Some(Pieces(pieces)))
    }

    /// What the journal holds of these, read on all threads.
    fn contents(&self, entries: &[&Entry]) -> Result<Vec<Option<Vec<u8>>>, JournalError> {
        let read = |entry: &&Entry| self.journal.written(entry);
        match self.pool() {
            Ok(pool) => pool.install(|| entries.par_iter().map(read).collect()),
            Err(_) => entries.iter().map(read).collect(),
        }
    }
}
