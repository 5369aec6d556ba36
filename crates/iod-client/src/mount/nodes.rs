//! The files that the kernel knows, and their fids.

use super::locks::HeldLock;
use crate::connection::ROOT;
use crate::link::Recalled;
use isthmus_forward::message::Attributes;
use std::collections::HashMap;

/// The number by which the kernel knows the root.
pub(super) const ROOT_NUMBER: u64 = 1;

/// The number of no file.
const NONE: u64 = 0;

/// A directory, by the number that the kernel has for it, and the name of an entry.
type FileName = (u64, Vec<u8>);

/// A file that the kernel knows.
#[derive(Debug)]
pub(super) struct Node {
    /// Its fid, which is not open.
    pub fid: u32,
    /// The directory and the name; `None` once it was removed, and for the root.
    name: Option<FileName>,
    /// Its other fids, each with the name by which it was found: another thread may be about to use one.
    others: Vec<(Option<FileName>, u32)>,
    /// The number of the file at the daemon, and the time of its creation.
    number: u64,
    created: (u64, u32),
    /// How often the kernel was given the file without forgetting it.
    lookups: u64,
    /// Time of the last write and size, when the kernel last cached data of it.
    cached: Option<(u64, u64, u64)>,
}

impl Node {
    /// Record that the file does not have this name any more.
    fn lose_name(&mut self, entry: &FileName) {
        let others = self.others.iter_mut().map(|(name, _)| name);
        for name in std::iter::once(&mut self.name).chain(others) {
            if name.as_ref() == Some(entry) {
                *name = None;
            }
        }
    }
}

/// An open file.
#[derive(Clone, Copy, Debug)]
struct Handle {
    node: u64,
    /// The flags with which it was opened; `None` before.
    flags: Option<u32>,
    was_written: bool,
}

/// All files that the kernel knows.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: HashMap<u64, Node>,
    by_name: HashMap<FileName, u64>,
    by_fid: HashMap<u32, u64>,
    handles: HashMap<u32, Handle>,
    pub locks: Vec<HeldLock>,
    free: Vec<u32>,
    next_fid: u32,
}

impl Nodes {
    /// Create the state in which the kernel knows the root.
    pub fn new(root: &Attributes) -> Self {
        let node = Node {
            fid: ROOT,
            name: None,
            others: Vec::new(),
            number: root.qid.path,
            created: root.created(),
            lookups: 1,
            cached: None,
        };
        Self {
            nodes: HashMap::from([(ROOT_NUMBER, node)]),
            by_name: HashMap::new(),
            by_fid: HashMap::from([(ROOT, ROOT_NUMBER)]),
            handles: HashMap::new(),
            locks: Vec::new(),
            free: Vec::new(),
            next_fid: ROOT + 1,
        }
    }

    /// Return a fid that is not in use.
    pub fn new_fid(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.next_fid += 1;
            self.next_fid - 1
        })
    }

    /// Record that a fid is not in use any more. The caller has it forgotten by the daemon first.
    pub fn free_fid(&mut self, fid: u32) {
        self.handles.remove(&fid);
        self.locks.retain(|lock| lock.fid != fid);
        self.free.push(fid);
    }

    /// Return the fid of a file that the kernel knows.
    pub fn fid(&self, node: u64) -> Option<u32> {
        self.nodes.get(&node).map(|node| node.fid)
    }

    /// Return the fid by which the attributes of a file are found: that of an open one, if all names were removed.
    pub fn fid_of_attributes(&self, node: u64) -> Option<u32> {
        let known = self.nodes.get(&node)?;
        let mut names =
            std::iter::once(&known.name).chain(known.others.iter().map(|(name, _)| name));
        let is_removed = node != ROOT_NUMBER && names.all(Option::is_none);
        let open = || {
            self.handles
                .iter()
                .find(|(_, handle)| handle.node == node && handle.flags.is_some())
        };
        Some(match is_removed.then(open).flatten() {
            Some((fid, _)) => *fid,
            None => known.fid,
        })
    }

    /// Return the number by which the kernel knows a file of the daemon.
    pub fn kernel_number(&self, number: u64) -> u64 {
        let root = self.nodes.get(&ROOT_NUMBER).map(|root| root.number);
        match number {
            number if root == Some(number) => ROOT_NUMBER,
            // The kernel has 1 for the root, and 0 for none.
            number if number <= ROOT_NUMBER => u64::MAX - number,
            number => number,
        }
    }

    /// Record that the kernel is given a file by name, for which `fid` was created. Return its number, and
    /// the fid that is not needed.
    pub fn found(
        &mut self,
        parent: u64,
        name: &[u8],
        fid: u32,
        attributes: &Attributes,
    ) -> (u64, Option<u32>) {
        let number = self.kernel_number(attributes.qid.path);
        let entry = (parent, name.to_vec());
        let node = self.nodes.entry(number).or_insert_with(|| Node {
            fid,
            name: None,
            others: Vec::new(),
            number: attributes.qid.path,
            created: (0, 0),
            lookups: 0,
            cached: None,
        });
        node.lookups += 1;
        // The number may be that of another file now.
        node.created = attributes.created();
        if node.name.as_ref() == Some(&entry) || number == ROOT_NUMBER {
            return (number, Some(fid));
        }
        // The file has several names, or a new one: the fid of the name that was found last is right.
        let known = node
            .others
            .iter()
            .position(|(name, _)| name.as_ref() == Some(&entry));
        let found = known.map_or(fid, |at| node.others.swap_remove(at).1);
        let old_name = node.name.replace(entry.clone());
        let old = std::mem::replace(&mut node.fid, found);
        if old != found {
            node.others.push((old_name, old));
        }
        self.by_fid.insert(found, number);
        if let Some(before) = self.by_name.insert(entry.clone(), number)
            && before != number
            && let Some(node) = self.nodes.get_mut(&before)
        {
            node.lose_name(&entry);
        }
        (number, (found != fid).then_some(fid))
    }

    /// Record that the kernel forgets a file `count` times. Return its fids if the kernel does not know it any more.
    pub fn forget(&mut self, number: u64, count: u64) -> Vec<u32> {
        let Some(node) = self.nodes.get_mut(&number) else {
            return Vec::new();
        };
        node.lookups = node.lookups.saturating_sub(count);
        if node.lookups > 0 || number == ROOT_NUMBER {
            return Vec::new();
        }
        let Some(node) = self.nodes.remove(&number) else {
            return Vec::new();
        };
        let all = std::iter::once((node.name, node.fid)).chain(node.others);
        all.map(|(name, fid)| {
            self.by_fid.remove(&fid);
            if let Some(name) = name
                && self.by_name.get(&name) == Some(&number)
            {
                self.by_name.remove(&name);
            }
            fid
        })
        .collect()
    }

    /// Record that an entry of a directory was removed.
    pub fn removed(&mut self, parent: u64, name: &[u8]) {
        let entry = (parent, name.to_vec());
        let number = self.by_name.remove(&entry);
        if let Some(node) = number.and_then(|number| self.nodes.get_mut(&number)) {
            node.lose_name(&entry);
        }
    }

    /// Record that an entry of a directory was renamed.
    pub fn renamed(&mut self, parent: u64, name: &[u8], to: u64, new: &[u8]) {
        let (old, new) = ((parent, name.to_vec()), (to, new.to_vec()));
        if old == new {
            return;
        }
        let Some(number) = self.by_name.remove(&old) else {
            return self.removed(new.0, &new.1);
        };
        let before = self.by_name.insert(new.clone(), number);
        if let Some(before) = before.and_then(|before| self.nodes.get_mut(&before)) {
            before.lose_name(&new);
        }
        if let Some(node) = self.nodes.get_mut(&number) {
            if node.name.as_ref() == Some(&old) {
                node.name = Some(new);
            } else if let Some(other) = node
                .others
                .iter_mut()
                .find(|(name, _)| name.as_ref() == Some(&old))
            {
                other.0 = Some(new);
            }
        }
    }

    /// Record a fid for an open file, before it is opened.
    pub fn opens(&mut self, node: u64) -> u32 {
        let fid = self.new_fid();
        let handle = Handle {
            node,
            flags: None,
            was_written: false,
        };
        self.handles.insert(fid, handle);
        fid
    }

    /// Record that the file of a fid, which the kernel knows by `node`, is open with these flags.
    pub fn opened(&mut self, fid: u32, node: u64, flags: u32) {
        if let Some(handle) = self.handles.get_mut(&fid) {
            (handle.node, handle.flags) = (node, Some(flags));
        }
    }

    /// Record that a file is written through this fid.
    pub fn mark_written(&mut self, fid: u32) {
        if let Some(handle) = self.handles.get_mut(&fid) {
            handle.was_written = true;
        }
    }

    /// Return whether a file was written through this fid, and record that its data is committed.
    pub fn take_written(&mut self, fid: u32) -> bool {
        let handle = self.handles.get_mut(&fid);
        handle.is_some_and(|handle| std::mem::take(&mut handle.was_written))
    }

    /// Record the state of a file whose data the kernel is about to cache. Return whether that is the state of
    /// the data it has.
    pub fn is_unchanged(&mut self, number: u64, now: &Attributes) -> bool {
        let Some(node) = self.nodes.get_mut(&number) else {
            return false;
        };
        let now = (now.modified_s, now.modified_ns, now.size);
        node.cached.replace(now) == Some(now)
    }

    /// Record that files that were removed while open are lost: a file that gets such a number later is another one.
    pub fn lose_removed(&mut self) {
        let mut handles = std::mem::take(&mut self.handles);
        for handle in handles.values_mut() {
            if self.path(handle.node).is_none() {
                handle.node = NONE;
            }
        }
        self.handles = handles;
    }

    /// Return the locks that were taken with a fid.
    pub fn locks_of(&self, fid: u32) -> Vec<HeldLock> {
        let locks = self.locks.iter().filter(|lock| lock.fid == fid);
        locks.copied().collect()
    }

    /// Return the fids with which a file is open.
    pub fn handles_of(&self, node: u64) -> Vec<u32> {
        let handles = self.handles.iter();
        let handles = handles.filter(|(_, handle)| handle.node == node);
        handles.map(|(fid, _)| *fid).collect()
    }

    /// Return the path of a file from the root; `None` if it was removed.
    fn path(&self, mut number: u64) -> Option<Vec<u8>> {
        let mut names = Vec::new();
        while number != ROOT_NUMBER {
            let node = self.nodes.get(&number)?;
            let mut all =
                std::iter::once(&node.name).chain(node.others.iter().map(|(name, _)| name));
            let (parent, name) = all.find_map(Option::as_ref)?;
            names.push(name.as_slice());
            // Renames of other clients could make a circle of what is known here.
            if names.len() > 4096 {
                return None;
            }
            number = *parent;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// Return how the file of a fid is found again.
    pub fn recall(&self, fid: u32) -> Option<Recalled> {
        let handle = self.handles.get(&fid);
        let number = match handle {
            Some(handle) => handle.node,
            None => *self.by_fid.get(&fid)?,
        };
        let node = self.nodes.get(&number)?;
        Some(Recalled {
            path: self.path(number)?,
            number: node.number,
            created: node.created,
            flags: handle.and_then(|handle| handle.flags),
        })
    }

    /// Record that a process has locked these bytes, or unlocked them if there is no lock of the kind.
    pub fn lock(&mut self, lock: HeldLock, is_unlock: bool) {
        let mut rest = Vec::new();
        self.locks.retain_mut(|held| {
            let is_same = (held.node, held.owner) == (lock.node, lock.owner);
            if !is_same || held.end < lock.start || lock.end < held.start {
                return true;
            }
            if lock.end < held.end {
                let start = lock.end + 1;
                rest.push(HeldLock { start, ..*held });
            }
            if held.start >= lock.start {
                return false;
            }
            held.end = lock.start - 1;
            true
        });
        self.locks.append(&mut rest);
        if !is_unlock {
            self.locks.push(lock);
        }
    }
}
