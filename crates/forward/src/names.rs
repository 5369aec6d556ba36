//! Files by parent and name. The fids of all clients refer to them.
//!
//! A fid stays with its file when the file, or a directory above it, is renamed. Names without a
//! reference are forgotten, so memory grows with the fids and not with the files of the store.

use crate::files::{Errno, Result};
use std::collections::HashMap;

/// Maximum length of a path in bytes.
const PATH_BYTES: usize = 4095;

/// The number of a name in [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name(u32);

/// A name, its directory and its references.
#[derive(Debug)]
struct Entry {
    /// The directory; the root is its own parent.
    parent: Name,
    name: Box<[u8]>,
    /// The number of fids and of children that refer to the name. It is 0 for free entries.
    references: u32,
    children: HashMap<Box<[u8]>, Name>,
    /// Whether the file was removed, or another has taken its name.
    is_gone: bool,
}

/// The names that the fids of all clients refer to, as a tree.
#[derive(Debug)]
pub struct Names {
    entries: Vec<Entry>,
    free: Vec<Name>,
}

impl Default for Names {
    /// Create a tree that has the root only.
    fn default() -> Self {
        let mut names = Self {
            entries: Vec::new(),
            free: Vec::new(),
        };
        names.add(Self::ROOT, &[]);
        names
    }
}

impl Names {
    /// The root of the tree, which is never forgotten.
    pub const ROOT: Name = Name(0);

    /// Return the entry of a name.
    fn entry(&self, name: Name) -> &Entry {
        &self.entries[name.0 as usize]
    }

    /// Return the entry of a name, to change it.
    fn entry_mut(&mut self, name: Name) -> &mut Entry {
        &mut self.entries[name.0 as usize]
    }

    /// Add an entry with one reference.
    fn add(&mut self, parent: Name, name: &[u8]) -> Name {
        let entry = Entry {
            parent,
            name: name.into(),
            references: 1,
            children: HashMap::new(),
            is_gone: false,
        };
        if let Some(free) = self.free.pop() {
            *self.entry_mut(free) = entry;
            return free;
        }
        self.entries.push(entry);
        Name(u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 names fit in memory"))
    }

    /// Refer to an entry of a directory.
    pub fn child(&mut self, directory: Name, name: &[u8]) -> Name {
        if let Some(&known) = self.entry(directory).children.get(name) {
            self.retain(known);
            return known;
        }
        self.retain(directory);
        let child = self.add(directory, name);
        let children = &mut self.entry_mut(directory).children;
        children.insert(name.into(), child);
        child
    }

    /// Refer to the directory of a name, and return it with the name in it.
    ///
    /// # Errors
    /// [`Errno::STALE`] if the file was removed; [`Errno::BUSY`] for the root, which has no name.
    pub fn entry_of(&mut self, name: Name) -> Result<(Name, Box<[u8]>)> {
        if name == Self::ROOT {
            return Err(Errno::BUSY);
        }
        let entry = self.entry(name);
        if entry.is_gone {
            return Err(Errno::STALE);
        }
        let (parent, text) = (entry.parent, entry.name.clone());
        self.retain(parent);
        Ok((parent, text))
    }

    /// Refer to the directory of a name; that of the root is the root.
    pub fn parent(&mut self, name: Name) -> Name {
        let parent = self.entry(name).parent;
        self.retain(parent);
        parent
    }

    /// Refer to a name once more.
    pub fn retain(&mut self, name: Name) {
        self.entry_mut(name).references += 1;
    }

    /// Drop one reference to a name.
    pub fn release(&mut self, mut name: Name) {
        while name != Self::ROOT {
            let entry = self.entry_mut(name);
            entry.references -= 1;
            if entry.references > 0 {
                return;
            }
            let (parent, text) = (entry.parent, std::mem::take(&mut entry.name));
            if !entry.is_gone {
                self.entry_mut(parent).children.remove(&text);
            }
            self.free.push(name);
            name = parent;
        }
    }

    /// Return the path from the root to a name, without a leading slash.
    ///
    /// # Errors
    /// [`Errno::STALE`] if the file, or a directory above it, was removed; [`Errno::NAMETOOLONG`]
    /// above 4,095 bytes, the limit of Linux.
    pub fn path(&self, mut name: Name) -> Result<Vec<u8>> {
        let (mut parts, mut bytes) = (Vec::new(), 0);
        while name != Self::ROOT {
            let entry = self.entry(name);
            if entry.is_gone {
                return Err(Errno::STALE);
            }
            bytes += entry.name.len() + 1;
            if bytes > PATH_BYTES {
                return Err(Errno::NAMETOOLONG);
            }
            parts.push(&*entry.name);
            name = entry.parent;
        }
        parts.reverse();
        Ok(parts.join(&b'/'))
    }

    /// Record that the entry of a directory was removed.
    pub fn remove(&mut self, directory: Name, name: &[u8]) {
        let children = &mut self.entry_mut(directory).children;
        if let Some(gone) = children.remove(name) {
            self.entry_mut(gone).is_gone = true;
        }
    }

    /// Record that an entry of a directory has another name now, or another directory. An entry that
    /// had the new name is marked as gone.
    pub fn rename(&mut self, from: Name, old: &[u8], to: Name, new: &[u8]) {
        if (from, old) == (to, new) {
            return;
        }
        self.remove(to, new);
        let Some(moved) = self.entry_mut(from).children.remove(old) else {
            return;
        };
        self.retain(to);
        let entry = self.entry_mut(moved);
        (entry.parent, entry.name) = (to, new.into());
        self.entry_mut(to).children.insert(new.into(), moved);
        self.release(from);
    }

    /// Return the number of names, the root included.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}
