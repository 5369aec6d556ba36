//! Storage of a point or search in the journal: first its finished parts, then its result.

use super::Experiment;
use crate::envelope::Entry;
use crate::error::RunError;
use crate::kept::Kept;
use serde::Serialize;
use serde::de::DeserializeOwned;

impl Experiment {
    /// Return the result of an entry from the journal. If the entry is missing, compute the result and store
    /// it; write it to the journal's folder only if `whole` accepts it.
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
