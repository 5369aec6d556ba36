//! The result of a run as JSON. If the journal contains all points and searches, the result is assembled from
//! the journal's bytes.

use super::Experiment;
use crate::envelope::Entry;
use crate::error::RunError;
use crate::journal::JournalError;
use rayon::prelude::*;
use std::sync::PoisonError;

/// Number of journal entries that are read at the same time. While the result is assembled, they are in
/// memory twice.
const TOGETHER: usize = 256;
/// End of the JSON of a result without points and searches.
const NOTHING: &[u8] = b"\"points\":[],\"searches\":[]}";

impl Experiment {
    /// Run the experiment and return the result as JSON. If the journal contains all points and searches, the
    /// JSON consists of the journal's bytes.
    ///
    /// # Errors
    /// The same errors as [`Experiment::run`].
    pub fn run_to_json(&self) -> Result<Vec<u8>, RunError> {
        let known = (self.finished.lock())
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        // Look into the journal again, because other processes may have added the missing entries.
        let known = match known {
            Some(json) => Some(json),
            None => self.collected()?,
        };
        if let Some(json) = known {
            self.progress.set_all_done();
            return Ok(json);
        }
        let result = self.run()?;
        Ok(serde_json::to_vec(&result).expect("results are JSON"))
    }

    /// Assemble the result of the run from the journal's bytes; return `None` if a point or search is missing
    /// there.
    pub(super) fn collected(&self) -> Result<Option<Vec<u8>>, JournalError> {
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
        let points: Vec<&Entry> = self.points.iter().map(|job| &job.entry).collect();
        let searches: Vec<&Entry> = self.searches.iter().map(|job| &job.entry).collect();
        for (name, entries) in [("\"points\":[", points), (",\"searches\":[", searches)] {
            json.extend_from_slice(name.as_bytes());
            let begin = json.len();
            for some in entries.chunks(TOGETHER) {
                for content in self.contents(some)? {
                    // Return no result if another process has removed the entry since the check that all exist.
                    let Some(content) = content else {
                        return Ok(None);
                    };
                    if json.len() > begin {
                        json.push(b',');
                    }
                    json.extend_from_slice(&content);
                }
            }
            json.push(b']');
        }
        json.push(b'}');
        Ok(Some(json))
    }

    /// Read these journal entries on all threads, and return their contents, `None` for an entry that does not
    /// exist. An error is that of the first damaged entry.
    fn contents(&self, entries: &[&Entry]) -> Result<Vec<Option<Vec<u8>>>, JournalError> {
        let read = |entry: &&Entry| self.journal.written(entry);
        match self.pool() {
            Ok(pool) => {
                let all: Vec<_> = pool.install(|| entries.par_iter().map(read).collect());
                all.into_iter().collect()
            }
            Err(_) => entries.iter().map(read).collect(),
        }
    }
}
