//! A store in memory: names, and files whose data is synced or not.

use std::collections::BTreeMap;

/// A file. Its number is used again after it.
#[derive(Debug, Default)]
pub struct Inode {
    /// When it was created: no other file has the same time.
    pub born: u64,
    pub data: Vec<u8>,
    pub synced: Vec<u8>,
    pub has_name: bool,
}

/// The store. It outlives daemons and their host.
#[derive(Debug, Default)]
pub struct Store {
    pub names: BTreeMap<Vec<u8>, u64>,
    pub inodes: BTreeMap<u64, Inode>,
    /// Whether it answers nothing.
    pub is_gone: bool,
    births: u64,
}

impl Store {
    /// Creates an empty file.
    pub fn create(&mut self, name: &[u8]) -> u64 {
        let number = (1..).find(|number| !self.inodes.contains_key(number));
        let number = number.expect("a number is free");
        self.births += 1;
        let inode = Inode {
            born: self.births,
            has_name: true,
            ..Inode::default()
        };
        self.inodes.insert(number, inode);
        self.names.insert(name.to_vec(), number);
        number
    }

    /// Removes a name. The file stays until [`Store::release`].
    pub fn remove(&mut self, name: &[u8]) {
        if let Some(number) = self.names.remove(name) {
            self.inodes.get_mut(&number).unwrap().has_name = false;
        }
    }

    /// Renames a file, which replaces another one.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) {
        self.remove(to);
        let number = self.names.remove(from).unwrap();
        self.names.insert(to.to_vec(), number);
    }

    /// Frees a file that no client has open, if it has no name.
    pub fn release(&mut self, number: u64) {
        if self
            .inodes
            .get(&number)
            .is_some_and(|inode| !inode.has_name)
        {
            self.inodes.remove(&number);
        }
    }

    /// Loses what is not synced of a file.
    pub fn fail(&mut self, number: u64) {
        if let Some(inode) = self.inodes.get_mut(&number) {
            inode.data.clone_from(&inode.synced);
        }
    }
}

/// Returns bytes of a list, zero after its end.
pub fn slice(of: &[u8], range: &std::ops::Range<u64>) -> Vec<u8> {
    let at = range.clone();
    at.map(|at| of.get(at as usize).copied().unwrap_or(0))
        .collect()
}

/// Writes bytes to a list, which grows.
pub fn put(into: &mut Vec<u8>, start: u64, bytes: &[u8]) {
    let end = start as usize + bytes.len();
    into.resize(into.len().max(end), 0);
    into[start as usize..end].copy_from_slice(bytes);
}
