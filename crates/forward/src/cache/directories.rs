//! Decides which files of a directory are read ahead, when clients read its files one after another.

use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of directories that are observed at a time.
const DIRECTORIES: usize = 16;

/// Number of files that clients read in a directory until it is listed.
const FIRST_READS: u32 = 3;

/// Number of steps from a file to the next one until files are read ahead.
const FIRST_STEPS: u32 = 2;

/// Maximum number of files that are read ahead.
const AHEAD: usize = 64;

/// What the caller does after a client has read a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// Nothing.
    Nothing,
    /// List the directory and report its files by [`Directories::list`].
    List,
    /// Read these files into the cache, in this order.
    Read(Vec<Vec<u8>>),
}

/// An order in which programs read the files of a directory.
#[derive(Debug, Default)]
struct Order {
    names: Vec<Vec<u8>>,
    positions: HashMap<Vec<u8>, usize>,
    /// The position of the file that was read last.
    last: Option<usize>,
    /// The number of steps from each file to the next one until then.
    steps: u32,
    /// The position up to which files were read ahead.
    ahead: usize,
}

impl Order {
    /// Create an order.
    fn new(names: Vec<Vec<u8>>) -> Self {
        let positions = names.iter().cloned().zip(0..).collect();
        Self {
            names,
            positions,
            ..Self::default()
        }
    }

    /// Record that the file at a position was read. Return the positions of the files to read ahead.
    fn read(&mut self, at: usize) -> Range<usize> {
        let is_next = self.last.is_some_and(|last| last + 1 == at);
        self.steps = if is_next { self.steps + 1 } else { 0 };
        self.last = Some(at);
        if self.steps < FIRST_STEPS {
            self.ahead = 0;
            return 0..0;
        }
        let window = AHEAD.min(2 << self.steps.min(16));
        let start = self.ahead.max(at + 1);
        // Not file by file: once half of what was read ahead is used.
        if start - at > window / 2 {
            return 0..0;
        }
        let end = (at + 1 + window).min(self.names.len());
        self.ahead = end.max(start);
        start..end.max(start)
    }
}

/// A directory in which clients read files.
#[derive(Debug, Default)]
struct Directory {
    last: Vec<u8>,
    reads: u32,
    /// Its files in the order of the store, and by name; empty until it was listed.
    orders: Vec<Order>,
}

/// The directories in which clients read files.
#[derive(Debug, Default)]
pub struct Directories {
    /// By path, the one that was used last at the end.
    known: Vec<(Vec<u8>, Directory)>,
}

impl Directories {
    /// Maximum number of files of a directory that is observed.
    pub const FILES: usize = 100_000;

    /// Return a directory, which is used now.
    fn get(&mut self, path: &[u8]) -> &mut Directory {
        let found = self.known.iter().position(|(known, _)| known == path);
        let used = match found {
            Some(at) => self.known.remove(at),
            None => {
                if self.known.len() >= DIRECTORIES {
                    self.known.remove(0);
                }
                (path.to_vec(), Directory::default())
            }
        };
        self.known.push(used);
        let last = self.known.len() - 1;
        &mut self.known[last].1
    }

    /// Record that a client reads a file of a directory. Return what to do for the files after it.
    pub fn read(&mut self, path: &[u8], name: &[u8]) -> Ahead {
        let directory = self.get(path);
        if directory.last == name {
            return Ahead::Nothing;
        }
        directory.last = name.to_vec();
        if directory.orders.is_empty() {
            directory.reads += 1;
            return match directory.reads {
                FIRST_READS => Ahead::List,
                _ => Ahead::Nothing,
            };
        }
        for order in &mut directory.orders {
            let Some(&at) = order.positions.get(name) else {
                // The directory has other files now.
                *directory = Directory::default();
                return Ahead::Nothing;
            };
            let ahead = order.read(at);
            if !ahead.is_empty() {
                return Ahead::Read(order.names[ahead].to_vec());
            }
        }
        Ahead::Nothing
    }

    /// Record the files of a directory, in the order of the store. One with too many is not observed.
    pub fn list(&mut self, path: &[u8], names: Vec<Vec<u8>>) {
        if names.len() > Self::FILES {
            return;
        }
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let directory = self.get(path);
        directory.orders = vec![Order::new(names), Order::new(sorted)];
        for order in &mut directory.orders {
            order.last = order.positions.get(&directory.last).copied();
        }
    }
}
