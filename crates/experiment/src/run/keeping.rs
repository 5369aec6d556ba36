//! Storage of a point or search in the journal: first its partial results, then its result.

use super::Experiment;
use crate::envelope::Entry;
use crate::error::RunError;
use crate::kept::Kept;
use serde::Serialize;
use serde::de::DeserializeOwned;

impl Experiment {
    /// Return the result of a point or search from the journal. If it is missing there, call `compute`, and
    /// store the result. It is written to the journal's folder only if `whole` accepts it as complete.
    pub(super) fn kept<T: Serialize + DeserializeOwned>(
        &self,
        entry: &Entry,
        whole: impl Fn(&T) -> bool,
        compute: impl FnOnce(&Kept<'_>) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let result = match self.journal.read(entry)? {
            Some(result) => result,
            None => {
                let kept = Kept::open(&self.journal, entry, self.options.keep_after)?;
                let result = compute(&kept).map_err(|error| match kept.error() {
                    Some(unkept) => unkept.into(),
                    None => error,
                });
                if matches!(result, Err(RunError::Cancelled)) {
                    kept.flush()?;
                }
                let result = result?;
                self.journal.write(entry, &result, whole(&result))?;
                kept.clear()?;
                result
            }
        };
        self.progress.add_done();
        Ok(result)
    }
}
