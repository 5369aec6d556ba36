//! Reads files of a directory ahead, when clients read its files one after another.

use crate::cache::Cache;
use crate::directories::Task;
use crate::export::Export;
use crate::open::Open;
use crate::shared::Shared;
use crate::status::{errno, open_flags};
use isthmus_forward::Result;
use isthmus_forward::cache::{Ahead, Directories};
use rustix::fs::{FileType, RawDir};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

/// Maximum number of files that are read ahead, and directories that are listed, at a time.
const THREADS: usize = 16;

/// Maximum number of those that wait.
const WAITING: usize = 1024;

/// Maximum number of bytes of a file that are read ahead.
const FILE_BYTES: u64 = 1 << 20;

/// Size in bytes of the buffer for entries of a directory.
const ENTRIES_BYTES: usize = 32 << 10;

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
        let export = || Arc::clone(export);
        match ahead {
            Ahead::Nothing => {}
            Ahead::List => {
                let (export, path) = (export(), parent.to_vec());
                self.add(std::iter::once(Task::List { export, path, key }));
            }
            Ahead::Read(names) => self.add(names.into_iter().map(|name| Task::Read {
                export: export(),
                path: match parent {
                    b"" => name,
                    parent => [parent, &name].join(&b'/'),
                },
            })),
        }
    }

    /// Return the names of the ordinary files of a directory, in the order of the store, as far as they are observed.
    fn files_of(self: &Arc<Self>, export: &Arc<Export>, path: &[u8]) -> Result<Vec<Vec<u8>>> {
        let place = Export::place(export, path);
        let open = Open::at(self, &place, open_flags(0))?.open;
        let mut buffer = Vec::with_capacity(ENTRIES_BYTES);
        let mut entries = RawDir::new(&*open.file, buffer.spare_capacity_mut());
        let mut names = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(errno)?;
            if entry.file_type() == FileType::RegularFile {
                names.push(entry.file_name().to_bytes().to_vec());
            }
            if names.len() > Directories::FILES {
                break;
            }
        }
        Ok(names)
    }

    /// Add tasks.
    fn add(self: &Arc<Self>, tasks: impl Iterator<Item = Task>) {
        let waiting = self.ahead.waiting.lock();
        let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
        waiting.tasks.extend(tasks);
        let excess = waiting.tasks.len().saturating_sub(WAITING);
        waiting.tasks.drain(..excess);
        while waiting.threads < THREADS.min(waiting.tasks.len()) {
            let shared = Arc::clone(self);
            let thread = std::thread::Builder::new().name("ahead".into());
            if thread.spawn(move || shared.read_ahead()).is_err() {
                return;
            }
            waiting.threads += 1;
        }
    }

    /// Carry out tasks until none waits.
    fn read_ahead(self: &Arc<Self>) {
        loop {
            let next = {
                let waiting = self.ahead.waiting.lock();
                let mut waiting = waiting.unwrap_or_else(PoisonError::into_inner);
                let next = waiting.tasks.pop_front();
                waiting.threads -= usize::from(next.is_none());
                next
            };
            match next {
                None => return,
                Some(Task::List { export, path, key }) => {
                    // Without the names, nothing is read ahead.
                    if let Ok(names) = self.files_of(&export, &path) {
                        let directories = self.ahead.directories.lock();
                        let mut directories = directories.unwrap_or_else(PoisonError::into_inner);
                        directories.list(&key, names);
                    }
                }
                Some(Task::Read { export, path }) => {
                    let (root, is_flushed) = (Export::root(&export), AtomicBool::new(false));
                    // A client that reads the file gets the error.
                    let _ = self.prefetch(&root, &path, FILE_BYTES, &is_flushed);
                }
            }
        }
    }
}
