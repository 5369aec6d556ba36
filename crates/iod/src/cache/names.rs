//! Operations on names and sizes in the store, while files in the cache have unstored bytes. The log says
//! when one begins and when it has ended, so that a daemon that starts again finds each file, whether or
//! not the store had carried the operation out.

use super::file::{File, key, state as state_of};
use super::state::{Cache, State, number_of};
use crate::export::Place;
use crate::status::errno;
use isthmus_forward::cache::FileId;
use isthmus_forward::cache::log::Record;
use isthmus_forward::{Errno, Result};
use rustix::fs::Statx;

/// Maximum number of times that a file is stored while clients write to it.
const STORES: u32 = 100;

/// An operation on the store that is under way.
#[derive(Debug)]
pub(super) enum Operation {
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

impl Operation {
    /// Return the record that the operation begins.
    pub(super) fn record(&self, operation: u64) -> Record<'_> {
        match self {
            Self::Cut { file, size } => Record::Cut {
                operation,
                file: file.0,
                size: *size,
            },
            Self::Rename { export, from, to } => Record::Rename {
                operation,
                export: *export,
                from,
                to,
            },
            Self::Remove { file } => Record::Remove {
                operation,
                file: file.0,
            },
        }
    }
}

impl Cache {
    /// Begin an operation. Return its number, or `None` if the log does not have the file.
    pub(super) fn begin(&self, operation: Operation) -> Result<Option<u64>> {
        let mut state = self.state();
        if let Operation::Cut { file, .. } | Operation::Remove { file } = &operation
            && !state.entries.get(file).is_some_and(|entry| entry.is_logged)
        {
            // After a failure of the host, the log must not say any more that the file has unstored bytes.
            drop(state);
            return self.sync_log().map(|()| None);
        }
        if state.is_closed {
            return Err(Errno::IO);
        }
        self.keep_log_short(&mut state)?;
        let number = state.next_operation;
        state
            .log
            .append(&[operation.record(number)])
            .map_err(errno)?;
        state.next_operation += 1;
        state.operations.insert(number, operation);
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
        state.operations.remove(&operation);
        let is_done = u8::from(is_done);
        let ended = state.log.append(&[Record::Done { operation, is_done }]);
        state.is_log_incomplete |= ended.is_err();
    }

    /// Have the end of a cut synced before the client gets its result. A daemon that starts after a failure of the host carries
    /// out each cut without an end again, and the file may have been stored since.
    pub(super) fn sync_end(&self, operation: Option<u64>) -> Result<()> {
        if operation.is_none() {
            return Ok(());
        }
        self.sync_log_always()
    }

    /// Begin to rename an entry of a directory. [`Cache::end_rename`] takes the result.
    pub fn begin_rename(
        &self,
        (from, old): (&Place, &[u8]),
        (to, new): (&Place, &[u8]),
    ) -> Result<Option<u64>> {
        self.begin(Operation::Rename {
            export: number_of(&self.exports, &from.export),
            from: from.path_of(old)?,
            to: to.path_of(new)?,
        })
    }

    /// End a rename, after the names of the export have changed.
    pub fn end_rename(&self, operation: Option<u64>, is_done: bool) {
        self.end(&mut self.state(), operation, is_done);
    }

    /// Begin to remove one of the names of a file: the log has it by another name then.
    fn begin_loss(&self, file: &File, directory: &Place, name: &[u8]) -> Result<Option<u64>> {
        let from = directory.path_of(name)?;
        match file.other_path(&from) {
            Some(to) => self.begin(Operation::Rename {
                export: number_of(&self.exports, &directory.export),
                from,
                to,
            }),
            None => {
                self.make_nameless(file)?;
                Ok(None)
            }
        }
    }

    /// Store a file that is about to lose its last name that is known, and each write from now on: a daemon that
    /// starts again could not find it.
    fn make_nameless(&self, file: &File) -> Result<()> {
        // From now on, clients wait until what they write is stored.
        file.set_nameless(true);
        for _ in 0..STORES {
            {
                let _alone = file.alone();
                let mut state = self.state();
                if state.machine.unstored_of(file.id) == 0 {
                    state.unrecord(file.id);
                    drop(state);
                    // As in `begin`.
                    return self.sync_log();
                }
            }
            if let Err(error) = self.store(file) {
                file.set_nameless(false);
                return Err(error);
            }
        }
        file.set_nameless(false);
        Err(Errno::BUSY)
    }

    /// Record that a file, whose state in the store is `status`, has this name as well.
    pub fn add_name(&self, status: &Statx, place: &Place) {
        if let Some(file) = self.find(status) {
            file.add_place(place);
        }
    }

    /// Remove the name of a file in a directory, whose state in the store is `status`, by `remove`. Unstored bytes
    /// of a file that has no other name are dropped once it is closed; of one that has, they are stored first.
    pub fn remove_name(
        &self,
        status: &Statx,
        (directory, name): (&Place, &[u8]),
        remove: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(file) = self.find(status) else {
            return remove();
        };
        let is_last = status.stx_nlink <= 1;
        if !is_last && self.state().machine.unstored_of(file.id) > 0 {
            self.store(&file)?;
        }
        let handle = file.handle().or_else(|_| file.path_handle());
        let was_nameless = file.is_nameless();
        let operation = match is_last {
            true => self.begin(Operation::Remove { file: file.id })?,
            false => self.begin_loss(&file, directory, name)?,
        };
        let count = |state: &mut State, by: i32| {
            if let Some(entry) = state.entries.get_mut(&file.id) {
                entry.removals = entry.removals.saturating_add_signed(by);
            }
        };
        count(&mut self.state(), 1);
        let result = remove();
        // Another program may have made a name meanwhile.
        let links = handle.and_then(|handle| Ok(state_of(&*handle)?.stx_nlink));
        if result.is_err() {
            file.set_nameless(was_nameless);
        }
        let is_gone = result.is_ok() && links.map_or(is_last, |links| links == 0);
        let mut state = self.state();
        let is_done = match is_last {
            true => is_gone,
            false => result.is_ok(),
        };
        self.end(&mut state, operation, is_done);
        count(&mut state, -1);
        let mut must_sync = false;
        if is_gone {
            if operation.is_none() || !is_last {
                // A client may have written to it since the operation began.
                let entry = state.entries.get(&file.id);
                must_sync = entry.is_some_and(|entry| entry.is_logged);
                state.unrecord(file.id);
            } else if let Some(entry) = state.entries.get_mut(&file.id) {
                entry.is_logged = false;
            }
            if let Some(entry) = state.entries.get_mut(&file.id) {
                entry.is_removed = true;
            }
            if state.by_key.get(&key(status)) == Some(&file.id) {
                state.by_key.remove(&key(status));
            }
        }
        self.tidy(&mut state, file.id);
        drop(state);
        if must_sync {
            self.sync_log()?;
        }
        result
    }
}
