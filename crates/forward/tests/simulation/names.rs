//! Operations on names and sizes in the store, each between two records of the log.

use super::daemon::Daemon;
use isthmus_forward::cache::FileId;
use isthmus_forward::cache::log::Operation;
use isthmus_forward::{Errno, Result};

impl Daemon {
    /// Begins an operation on the store.
    pub fn begin(&mut self, operation: Operation) -> Result<Option<u64>> {
        if self.journal.is_recorded(&operation) {
            self.keep_log_short()?;
        }
        let number = self.journal.begin(operation)?;
        if let Err(error) = self.sync_log() {
            self.journal.end(number, false);
            return Err(error);
        }
        Ok(number)
    }

    /// Returns the number of the file with a name.
    pub fn find(&self, name: &[u8]) -> Result<u64> {
        if self.store.is_gone {
            return Err(Errno::IO);
        }
        self.store.names.get(name).copied().ok_or(Errno::NOENT)
    }

    /// Creates a file unless it exists.
    pub fn create(&mut self, name: &[u8]) -> Result<u64> {
        match self.find(name) {
            Err(Errno::NOENT) => {
                self.point()?;
                Ok(self.store.create(name))
            }
            other => other,
        }
    }

    /// Ends a file at a size, in the store and in the cache.
    pub fn cut(&mut self, id: FileId, size: u64) -> Result<()> {
        if self.store.is_gone {
            return Err(Errno::IO);
        }
        self.pause(id)?;
        let result = self.cut_idle(id, size);
        self.cache.resume(id);
        if self.cache.unstored_of(id) == 0 {
            self.journal.leave_out(id);
        }
        result
    }

    /// Ends a file at a size, while no task for it is under way.
    fn cut_idle(&mut self, id: FileId, size: u64) -> Result<()> {
        self.point()?;
        let number = self.entries[&id].inode;
        let operation = self.begin(Operation::Cut { file: id, size })?;
        self.point()?;
        let inode = self.store.inodes.get_mut(&number).unwrap();
        inode.data.resize(size as usize, 0);
        inode.synced.resize(size as usize, 0);
        self.point()?;
        self.host.data.get_mut(&id).unwrap().truncate(size as usize);
        self.cache.cut(id, size);
        self.journal.end(operation, true);
        match operation {
            // The next daemon carries out a cut without an end again, and the file may have been stored since.
            Some(_) => self.sync_log_always(),
            None => Ok(()),
        }
    }

    /// Drops what is not stored of a file.
    pub fn abandon(&mut self, id: FileId) -> Result<()> {
        self.pause(id)?;
        let result = self.abandon_idle(id);
        self.cache.resume(id);
        self.tidy(id);
        result
    }

    /// Drops what is not stored of a file, while no task for it is under way.
    fn abandon_idle(&mut self, id: FileId) -> Result<()> {
        self.journal.leave_out(id);
        if self.journal.is_logged(id) {
            return Err(Errno::NOSPC);
        }
        let inode = self.store.inodes.get_mut(&self.entries[&id].inode).unwrap();
        inode.synced.clone_from(&inode.data);
        let size = inode.data.len() as u64;
        self.cache.abandon(id, size);
        assert_eq!(self.cache.unstored_of(id), 0);
        self.sync_log()?;
        // Until then, the next daemon may need the data.
        self.host.data.get_mut(&id).unwrap().truncate(0);
        Ok(())
    }

    /// Begins to remove the last name of a file.
    pub fn begin_removal(&mut self, inode: u64) -> Result<Option<u64>> {
        match self.by_inode.get(&inode) {
            Some(id) => self.begin(Operation::Remove { file: *id }),
            None => Ok(None),
        }
    }

    /// Records that a file has lost its last name.
    pub fn end_removal(&mut self, inode: u64, operation: Option<u64>) -> Result<()> {
        let born = self.store.inodes[&inode].born;
        self.removed.push((inode, born));
        self.journal.end(operation, true);
        let Some(id) = self.by_inode.remove(&inode) else {
            self.store.release(inode);
            return Ok(());
        };
        let must_sync = self.journal.removed(id, operation);
        self.tidy(id);
        match must_sync {
            true => self.sync_log(),
            false => Ok(()),
        }
    }

    /// Removes a file.
    pub fn remove(&mut self, name: &[u8]) -> Result<()> {
        let inode = self.find(name)?;
        self.point()?;
        let operation = self.begin_removal(inode)?;
        self.point()?;
        self.store.remove(name);
        self.point()?;
        self.end_removal(inode, operation)
    }

    /// Renames a file, which replaces another one.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<()> {
        let inode = self.find(from)?;
        if from == to {
            return Ok(());
        }
        let replaced = self.find(to).ok();
        self.point()?;
        let (old, new) = (from.to_vec(), to.to_vec());
        let operation = self.begin(Operation::Rename {
            export: 0,
            from: old,
            to: new,
        })?;
        let removal = match replaced.map_or(Ok(None), |replaced| self.begin_removal(replaced)) {
            Ok(removal) => removal,
            Err(error) => {
                self.journal.end(operation, false);
                return Err(error);
            }
        };
        self.point()?;
        self.store.rename(from, to);
        self.point()?;
        let ended = replaced.map_or(Ok(()), |replaced| self.end_removal(replaced, removal));
        self.point()?;
        if let Some(id) = self.by_inode.get(&inode) {
            self.entries.get_mut(id).unwrap().path = to.to_vec();
        }
        self.journal.end(operation, true);
        ended
    }
}
