//! Operations on names and sizes in the store, each between two records of the log.

use super::daemon::Daemon;
use super::recover::without;
use isthmus_forward::cache::FileId;
use isthmus_forward::cache::log::Record;
use isthmus_forward::{Errno, Result};

/// An operation on the store, as the log has it.
#[derive(Clone, Debug)]
pub enum Operation {
    Cut { file: u64, size: u64 },
    Rename { from: Vec<u8>, to: Vec<u8> },
    Remove { file: u64 },
}

impl Operation {
    /// Returns the record that the operation begins.
    pub fn record(&self, operation: u64) -> Record<'_> {
        match self {
            Self::Cut { file, size } => Record::Cut {
                operation,
                file: *file,
                size: *size,
            },
            Self::Rename { from, to } => Record::Rename {
                operation,
                export: 0,
                from,
                to,
            },
            Self::Remove { file } => Record::Remove {
                operation,
                file: *file,
            },
        }
    }
}

impl Daemon {
    /// Begins an operation on the store. One on a file that the log does not have needs no record, but the log must
    /// not say any more that the file is unstored.
    pub fn begin(&mut self, operation: Operation) -> Option<u64> {
        let is_logged = match &operation {
            Operation::Rename { .. } => true,
            Operation::Cut { file, .. } | Operation::Remove { file } => {
                self.entries[&FileId(*file)].is_logged
            }
        };
        let number = is_logged.then_some(self.next_operation);
        if let Some(number) = number {
            self.next_operation += 1;
            self.record(operation.record(number));
            self.operations.insert(number, operation);
        }
        self.sync_log();
        number
    }

    /// Ends an operation that the store has carried out.
    pub fn done(&mut self, operation: Option<u64>) {
        if let Some(operation) = operation {
            self.operations.remove(&operation);
            let is_done = 1;
            self.record(Record::Done { operation, is_done });
        }
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
        self.point()?;
        let (file, number) = (id.0, self.entries[&id].inode);
        let operation = self.begin(Operation::Cut { file, size });
        self.point()?;
        let inode = self.store.inodes.get_mut(&number).unwrap();
        inode.data.resize(size as usize, 0);
        inode.synced.resize(size as usize, 0);
        self.point()?;
        self.host
            .data
            .get_mut(&id)
            .unwrap()
            .bytes
            .resize(size as usize, 0);
        self.cache.cut(id, size);
        let entry = self.entries.get_mut(&id).unwrap();
        entry.synced = without(std::mem::take(&mut entry.synced), &(size..u64::MAX));
        self.done(operation);
        if operation.is_some() {
            // The next daemon carries out a cut without an end again, and the file may have been stored since.
            self.host.synced_records = self.host.ends.len();
        }
        self.cache.resume(id);
        if self.cache.unstored_of(id) == 0 {
            self.unrecord(id);
        }
        Ok(())
    }

    /// Drops what is not stored of a file.
    pub fn abandon(&mut self, id: FileId) {
        if self.pause(id).is_err() {
            return;
        }
        let number = self.entries[&id].inode;
        let inode = self.store.inodes.get_mut(&number).unwrap();
        inode.synced.clone_from(&inode.data);
        let size = inode.data.len() as u64;
        self.cache.abandon(id, size);
        assert_eq!(self.cache.unstored_of(id), 0);
        self.unrecord(id);
        self.sync_log();
        self.host.data.get_mut(&id).unwrap().bytes.clear();
        self.cache.resume(id);
        self.tidy(id);
    }

    /// Begins to remove the last name of a file.
    pub fn begin_removal(&mut self, inode: u64) -> Option<u64> {
        let id = *self.by_inode.get(&inode)?;
        self.begin(Operation::Remove { file: id.0 })
    }

    /// Records that a file has lost its last name.
    pub fn end_removal(&mut self, inode: u64, operation: Option<u64>) {
        let born = self.store.inodes[&inode].born;
        self.removed.push((inode, born));
        self.done(operation);
        match self.by_inode.remove(&inode) {
            Some(id) => {
                let entry = self.entries.get_mut(&id).unwrap();
                (entry.is_logged, entry.is_removed) = (false, true);
                self.tidy(id);
            }
            None => self.store.release(inode),
        }
    }

    /// Removes a file.
    pub fn remove(&mut self, name: &[u8]) -> Result<()> {
        let inode = self.find(name)?;
        self.point()?;
        let operation = self.begin_removal(inode);
        self.point()?;
        self.store.remove(name);
        self.point()?;
        self.end_removal(inode, operation);
        Ok(())
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
        let operation = self.begin(Operation::Rename { from: old, to: new });
        let removal = replaced.and_then(|replaced| self.begin_removal(replaced));
        self.point()?;
        self.store.rename(from, to);
        self.point()?;
        if let Some(replaced) = replaced {
            self.end_removal(replaced, removal);
        }
        self.point()?;
        if let Some(id) = self.by_inode.get(&inode) {
            self.entries.get_mut(id).unwrap().path = to.to_vec();
        }
        self.done(operation);
        Ok(())
    }
}
