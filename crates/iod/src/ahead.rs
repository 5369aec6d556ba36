//! Reads files of a directory ahead, when clients read its files one after another.

use crate::cache::Cache;
use crate::export::Export;
use crate::open::Open;
use crate::shared::Shared;
use crate::status::open_flags;
use isthmus_forward::Result;
use isthmus_forward::cache::{Ahead, Directories};
use rustix::fs::{FileType, RawDir};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of files that are read ahead at a time.
const THREADS: usize = 16;

/// Maximum number of files that wait to be read ahead.
const WAITING: usize = 1024;

/// Maximum number of bytes of a file that are read ahead.
const FILE_BYTES: u64 = 1 << 20;

/// Size in bytes of the buffer for entries of a directory.
const ENTRIES_BYTES: usize = 32 << 10;

/// The directories that clients read, and the files that wait to be read ahead.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    directories: Mutex<Directories>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    files: VecDeque<(Arc<Export>, Vec<u8>)>,
    threads: usize,
}

impl Shared {
    /// Record that a client reads the file at a path of an export, and begin to read ahead.
    pub fn reads(self: &Arc<Self>, cache: &Cache, export: &Arc<Export>, path: &[u8]) {
        let (parent, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&[][..], path),
        };
        let key = [&cache.number_of(export).to_le_bytes(), parent].concat();
        let directories = self.ahead.directories.lock();
        let ahead = directories
            .unwrap_or_else(PoisonError::into_inner)
            .read(&key, name);
        match ahead {
            Ahead::Nothing => {}
            Ahead::List => {
                let (shared, export, parent) =
                    (Arc::clone(self), Arc::clone(export), parent.to_vec());
                let thread = std::thread::Builder::new().name("ahead".into());
                // Without a thread, or the names, nothing is read ahead.
                let _ = thread.spawn(move || {
                    if let Ok(names) = shared.files_of(&export, &parent) {
                        let directories = shared.ahead.directories.lock();
                        let mut directories = directories.unwrap_or_else(PoisonError::into_inner);
                        directories.list(&key, names);
                    }
                });
            }
            Ahead::Read(names) => {
                let paths = names.into_iter().map(|name| match parent {
                    b"" => name,
                    parent => [parent, &name].join(&b'/'),
                });
                self.add(paths.map(|path| (Arc::clone(export), path)));
            }
        }
    }

    /// Return the names of the ordinary files of a directory, in the order of the store.
    fn files_of(self: &Arc<Self>, export: &Arc<Export>, path: &[u8]) -> Result<Vec<Vec<u8>>> {
        let place = Export::place(export, path);
        let open = Open::at(self, &place, open_flags(0))?.open;
        let mut buffer = Vec::with_capacity(ENTRIES_BYTES);
        let mut entries = RawDir::new(&*open.file, buffer.spare_capacity_mut());
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(crate::status::errno)?;
            if entry.file_type() == FileType::RegularFile {
                names.push(entry.file_name().to_bytes().to_vec());
            }
        }
        Ok(names)
    }

    /// Add files to read ahead.
    fn add(self: &Arc<Self>, files: impl Iterator<Item = (Arc<Export>, Vec<u8>)>) {
        let waiting = self.ahead.waiting.lock();
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.files.extend(files);
        let excess = waiting.files.len().saturating_sub(WAITING);
        waiting.files.drain(..excess);
        while waiting.threads < THREADS.min(waiting.files.len()) {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("ahead".into());
            if thread.spawn(move || shared.read_ahead()).is_err() {
                return;
            }
            waiting.threads += 1;
        }
    }

    /// Read files until none waits.
    fn read_ahead(self: &Arc<Self>) {
        loop {
            let next = {
                let waiting = self.ahead.waiting.lock();
                let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
                let next = waiting.files.pop_front();
                waiting.threads -= usize::from(next.is_none());
                next
            };
            let Some((export, path)) = next else {
                return;
            };
            // A client that reads the file gets the error.
            let _ = self.prefetch(&Export::root(&export), &path, FILE_BYTES);
        }
    }
}
