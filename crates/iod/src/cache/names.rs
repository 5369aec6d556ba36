//! Operations on names and sizes in the store, while files in the cache have unstored bytes. The log says
//! when one begins and when it has ended, so that a daemon that starts again finds each file, whether or
//! not the store had carried the operation out.

use super::file::key;
use super::state::{Cache, State, number_of};
use crate::export::Place;
use crate::status::errno;
use isthmus_forward::Result;
use isthmus_forward::cache::FileId;
use isthmus_forward::cache::log::Record;
use rustix::fs::Statx;

/// An operation on the store that is under way.
#[derive(Debug)]
pub(crate) enum Operation {
    /// A file ends at a size.
    Cut { file: FileId, size: u64 },
    /// A file or directory of an export gets another path.
    Rename {
        export: u32,
        from: Vec<u8>,
        to: Vec<u8>,
    },
    /// The last name of a file is removed.
    Remove { file: FileId },
}

impl Cache {
    /// Begin an operation. Return its number, or `None` if the log does not have the file.
    pub(super) fn begin(&self, operation: &Operation) -> Result<Option<u64>> {
        let mut state = self.state();
        if let Operation::Cut { file, .. } | Operation::Remove { file } = operation
            && !state.entries.get(file).is_some_and(|entry| entry.is_logged)
        {
            return Ok(None);
        }
        let number = state.next_operation;
        let record = match operation {
            Operation::Cut { file, size } => Record::Cut {
                operation: number,
                file: file.0,
                size: *size,
            },
            Operation::Rename { export, from, to } => Record::Rename {
                operation: number,
                export: *export,
                from,
                to,
            },
            Operation::Remove { file } => Record::Remove {
                operation: number,
                file: file.0,
            },
        };
        state.log.append(&[record]).map_err(errno)?;
        state.next_operation += 1;
        state.operations += 1;
        drop(state);
        if let Err(error) = self.sync_log() {
            self.end(&mut self.state(), Some(number), false);
            return Err(error);
        }
        Ok(Some(number))
    }

    /// End an operation: the store has carried it out, or not.
    pub(super) fn end(&self, state: &mut State, operation: Option<u64>, is_done: bool) {
        let Some(operation) = operation else {
            return;
        };
        state.operations -= 1;
        let is_done = u8::from(is_done);
        // Without the record, a later daemon looks what the store has done.
        let _ = state.log.append(&[Record::Done { operation, is_done }]);
    }

    /// Rename an entry of a directory by `rename`.
    pub fn rename(
        &self,
        (from, old): (&Place, &[u8]),
        (to, new): (&Place, &[u8]),
        rename: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let operation = Operation::Rename {
            export: number_of(&self.exports, &from.export),
            from: from.path_of(old)?,
            to: to.path_of(new)?,
        };
        let number = self.begin(&operation)?;
        let result = rename();
        self.end(&mut self.state(), number, result.is_ok());
        result
    }

    /// Remove the name of a file, whose state in the store is `status`, by `remove`. Unstored bytes of a
    /// file that has no other name are dropped once it is closed; of one that has, they are stored first.
    pub fn remove_name(&self, status: &Statx, remove: impl FnOnce() -> Result<()>) -> Result<()> {
        let Some(file) = self.find(status) else {
            return remove();
        };
        let is_last = status.stx_nlink <= 1;
        if !is_last && self.state().machine.unstored_of(file.id) > 0 {
            self.store(&file)?;
        }
        let operation = match is_last {
            true => self.begin(&Operation::Remove { file: file.id })?,
            false => None,
        };
        let result = remove();
        let mut state = self.state();
        self.end(&mut state, operation, result.is_ok());
        if is_last && result.is_ok() && state.by_key.get(&key(status)) == Some(&file.id) {
            if operation.is_none() {
                state.unrecord(file.id);
            }
            if let Some(entry) = state.entries.get_mut(&file.id) {
                (entry.is_removed, entry.is_logged) = (true, false);
            }
            state.by_key.remove(&key(status));
            self.tidy(&mut state, file.id);
        }
        result
    }
}
