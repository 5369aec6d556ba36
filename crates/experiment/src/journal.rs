//! Finished points on disk, so that an interrupted run goes on where it was.
//!
//! A folder with `journal.json`, which says what run it belongs to, and one file per finished
//! point or search. A file appears whole or not at all: it is written beside and renamed. Each
//! says of itself what it is ([`crate::envelope`]); one that is not what was written for this run
//! and point is refused, never used.

use crate::envelope::{self, Entry, Mismatch, Run};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::hash_map::RandomState;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a journal cannot be used. Nothing in it is ever changed then.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The folder cannot be read or written.
    #[error("{path}: {error}; give a folder that can be written")]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file is not what was written.
    #[error(
        "{path}:{line}: the finished result is damaged ({problem}); delete this file to compute it \
         again, all others stay"
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Line of the first error.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// The journal belongs to another run.
    #[error(
        "{path}: the folder holds results of another run ({what} differs); give another folder, \
         or start afresh in this one with --fresh"
    )]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// What should be a file or folder of the journal is something else.
    #[error("{path}: not a {wanted} of the journal's own (links are not followed); move it away")]
    NotOwn {
        /// Which file or folder.
        path: PathBuf,
        /// `folder` or `file`.
        wanted: &'static str,
    },
}

/// A journal in use.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    run: Run,
}

impl Journal {
    /// Opens the journal in `folder` for `run`; makes it if there is none.
    pub fn open(folder: &Path, run: Run) -> Result<Self, JournalError> {
        let journal = Self {
            folder: folder.to_owned(),
            run,
        };
        fs::create_dir_all(folder).map_err(|error| JournalError::Io {
            path: folder.to_owned(),
            error,
        })?;
        if !own(folder, fs::FileType::is_dir)? {
            return Err(JournalError::NotOwn {
                path: folder.to_owned(),
                wanted: "folder",
            });
        }
        let header = Entry::header();
        if journal.read::<()>(&header)?.is_none() {
            journal.write(&header, &())?;
        }
        Ok(journal)
    }

    /// Reads an entry; `None` if it is not there.
    pub fn read<T: DeserializeOwned>(&self, entry: &Entry) -> Result<Option<T>, JournalError> {
        let path = self.path(entry);
        match own(&path, fs::FileType::is_file) {
            Ok(true) => {}
            Ok(false) => {
                let wanted = "file";
                return Err(JournalError::NotOwn { path, wanted });
            }
            Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => return Err(JournalError::Io { path, error }),
        };
        let damaged = |line, problem: String| JournalError::Damaged {
            path: path.clone(),
            line,
            problem,
        };
        let content = envelope::opened(&self.run, entry, &bytes);
        let content = content.map_err(|mismatch| match mismatch {
            Mismatch::Run(what) => JournalError::Foreign {
                path: path.clone(),
                what,
            },
            Mismatch::Entry(what) | Mismatch::Changed(what) => damaged(1, what.to_owned()),
        })?;
        let read = serde_json::from_slice(content);
        let read = read.map_err(|error| damaged(1 + error.line(), error.to_string()))?;
        Ok(Some(read))
    }

    /// Writes an entry, whole or not at all.
    pub fn write<T: Serialize>(&self, entry: &Entry, value: &T) -> Result<(), JournalError> {
        let path = self.path(entry);
        let beside = self.beside(entry);
        let write = || -> io::Result<()> {
            let content = serde_json::to_vec(value)?;
            // Never through a link, never into what another process writes.
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&beside)?;
            file.write_all(&envelope::sealed(&self.run, entry, &content))?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|error| {
            // What was written so far is of no use; if it cannot be removed, so be it.
            let _ = fs::remove_file(&beside);
            JournalError::Io { path, error }
        })
    }

    fn path(&self, entry: &Entry) -> PathBuf {
        self.folder.join(format!("{}.json", entry.name))
    }

    /// A name that no other process takes, nor this one twice: `.point-00001.json.PID.RANDOM.part`.
    fn beside(&self, entry: &Entry) -> PathBuf {
        let process = std::process::id();
        let random = RandomState::new().build_hasher().finish();
        let name = format!(".{}.json.{process}.{random:016x}.part", entry.name);
        self.folder.join(name)
    }
}

/// Whether what is at `path` itself, no link followed, is of that type.
fn own(path: &Path, is: impl Fn(&fs::FileType) -> bool) -> Result<bool, JournalError> {
    let found = fs::symlink_metadata(path).map_err(|error| JournalError::Io {
        path: path.to_owned(),
        error,
    })?;
    Ok(is(&found.file_type()))
}
