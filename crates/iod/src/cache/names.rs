//! Operations on names and sizes in the store, while files in the cache have unstored bytes. The log says
//! when one begins and when it has ended, so that a daemon that starts again finds each file, whether or
//! not the store had carried the operation out.

use super::file::{File, key, state as state_of};
use super::state::{Cache, State, number_of};
use crate::export::Place;
use isthmus_forward::cache::log::Operation;
use isthmus_forward::{Errno, Result};
use rustix::fs::Statx;

/// Maximum number of times that a file is stored while clients write to it.
const STORES: u32 = 100;

impl Cache {
    /// Begin an operation. Return its number, or `None` if the log does not have the file.
    pub(super) fn begin(&self, operation: Operation) -> Result<Option<u64>> {
        let mut state = self.state();
        if state.journal.is_recorded(&operation) {
            if state.is_closed {
                return Err(Errno::IO);
            }
            self.keep_log_short(&mut state)?;
        }
        let number = state.journal.begin(operation)?;
        drop(state);
        if let Err(error) = self.sync_log() {
            self.state().journal.end(number, false);
            return Err(error);
        }
        Ok(number)
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
        self.state().journal.end(operation, is_done);
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
                    state.journal.leave_out(file.id);
                    drop(state);
                    // After a failure of the host, the log must not say any more that the file has unstored bytes.
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
        state.journal.end(operation, is_done);
        count(&mut state, -1);
        let mut must_sync = false;
        if is_gone {
            must_sync = state
                .journal
                .removed(file.id, operation.filter(|_| is_last));
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
