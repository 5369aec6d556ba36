//! Finished points on disk, so that an interrupted run goes on where it was, or in memory, on their
//! way to the process that puts a run together.
//!
//! A folder with `journal.json`, which says what run it belongs to, and one file per finished
//! point or search. A file appears whole or not at all: it is written beside and renamed. Each
//! says of itself what it is ([`crate::envelope`]); one that is not what was written for this run
//! and point is refused, never used.

use crate::claims::{ClaimError, retry_stale};
use crate::envelope::{self, Entry, HEADER, KEPT, Mismatch, Run};
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use thiserror::Error;

/// Why a journal cannot be used. Nothing in it is ever changed then.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The folder cannot be read or written.
    #[error("{path}: {error}; {}", remedy(error))]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file is not what was written.
    #[error(
        "{path}:{line}: {} damaged ({problem}); delete this file{}, all others stay",
        said_of(path).0, said_of(path).1
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
        "{path}: {} of another run ({what} differs); give another folder, or move this file away{}",
        said_of(path).0, said_of(path).1
    )]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// What was computed elsewhere is not of this run.
    #[error(
        "{name}: what a worker has computed is not used ({what} differs); give all of them the same \
         isthmus and the same scenario"
    )]
    Elsewhere {
        /// Which entry.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// The folder does not let work be shared.
    #[error(transparent)]
    Claims(#[from] ClaimError),
    /// What should be a file or folder of the journal is something else.
    #[error("{path}: not a {wanted} of the journal's own (links are not followed); move it away")]
    NotOwn {
        /// Which file or folder.
        path: PathBuf,
        /// `folder` or `file`.
        wanted: &'static str,
    },
}

impl JournalError {
    /// Whether it is about this one file, so that all others may be used.
    pub(crate) fn of_one_file(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Foreign { .. } | Self::NotOwn { .. } => true,
            Self::Claims(error) => error.of_one_unit,
            Self::Io { .. } | Self::Elsewhere { .. } => false,
        }
    }

    /// What is wrong, without the file and what to do.
    fn flaw(&self) -> String {
        match self {
            Self::Damaged { problem, .. } => format!("damaged ({problem})"),
            Self::Foreign { what, .. } => format!("of another run ({what} differs)"),
            Self::NotOwn { wanted, .. } => format!("not a {wanted} (links are not followed)"),
            Self::Io { error, .. } => format!("cannot be read ({error})"),
            other => other.to_string(),
        }
    }
}

/// What a file of that name is, as the beginning of a sentence, and why one would delete it.
fn said_of(path: &Path) -> (&'static str, &'static str) {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    match &*name {
        HEADER => ("the head of the journal is", ""),
        name if name.ends_with(KEPT) => (
            "what is finished of a point is",
            " to start the point again",
        ),
        _ => ("the finished result is", " to compute it again"),
    }
}

/// What may help where a file cannot be read or written.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, and give the command again"
        }
        _ => "give a folder that can be read and written",
    }
}

/// What is wrong with an entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Which entry.
    pub name: String,
    /// What is wrong.
    pub reason: String,
    /// Whether nothing is known to be wrong with it but that it cannot be read from here and now.
    pub unread: bool,
}

/// What is wrong with which of these entries of a folder's journal, whatever they are about: for those who know
/// which run it is of, as its scenario's `digest`, seed and form and the version of isthmus say, and only look.
/// What is not there is not wrong.
pub fn flaws(
    folder: &Path,
    (digest, seed, quick, version): (String, u64, bool, String),
    names: &[String],
) -> Vec<Flaw> {
    let run = Run {
        digest,
        seed,
        quick,
        version,
    };
    let journal = Journal {
        folder: Some(folder.to_owned()),
        ..Journal::nowhere(run, false)
    };
    let names = names.par_iter().with_min_len(16);
    let flaw = |name: &String| {
        let error = journal.vouch(&Entry::named(name)).err()?;
        Some(Flaw {
            name: name.clone(),
            reason: error.flaw(),
            unread: matches!(error, JournalError::Io { .. }),
        })
    };
    names.filter_map(flaw).collect()
}

/// A journal in use: a folder, or nothing but memory.
#[derive(Debug)]
pub(crate) struct Journal {
    run: Run,
    folder: Option<PathBuf>,
    /// Whether what is not kept in a folder is held here.
    holds: bool,
    /// Files as they would stand in a folder, by name.
    held: Mutex<HashMap<String, Vec<u8>>>,
}

impl Journal {
    /// Opens the journal in `folder` for `run`; makes it if there is none.
    pub fn open(folder: &Path, run: Run) -> Result<Self, JournalError> {
        let journal = Self {
            folder: Some(folder.to_owned()),
            ..Self::nowhere(run, false)
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
            journal.write(&header, &(), true)?;
        }
        Ok(journal)
    }

    /// No folder. With `holds` what is written is held in memory, to be given away.
    pub fn nowhere(run: Run, holds: bool) -> Self {
        Self {
            run,
            folder: None,
            holds,
            held: Mutex::default(),
        }
    }

    /// The folder, if there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Whether an entry is there; what is in it is not looked at.
    pub fn has(&self, entry: &Entry) -> Result<bool, JournalError> {
        if self.held().contains_key(&entry.name) {
            return Ok(true);
        }
        let Some(path) = self.path(entry) else {
            return Ok(false);
        };
        match own(&path, fs::FileType::is_file) {
            Ok(true) => Ok(true),
            Ok(false) => Err(JournalError::NotOwn {
                path,
                wanted: "file",
            }),
            Err(JournalError::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads an entry; `None` if it is not there.
    pub fn read<T: DeserializeOwned>(&self, entry: &Entry) -> Result<Option<T>, JournalError> {
        if let Some(bytes) = self.held().get(&entry.name) {
            return self.taken(entry, bytes).map(Some);
        }
        let Some((path, bytes)) = self.bytes(entry)? else {
            return Ok(None);
        };
        let content = self.content(entry, &path, &bytes)?;
        let read = serde_json::from_slice(content);
        let read = read.map_err(|error| JournalError::Damaged {
            path,
            line: 1 + error.line(),
            problem: error.to_string(),
        })?;
        Ok(Some(read))
    }

    /// The content of an entry, its bytes as they were written; `None` if it is not there.
    pub fn written(&self, entry: &Entry) -> Result<Option<Vec<u8>>, JournalError> {
        if let Some(bytes) = self.held().get(&entry.name) {
            return self
                .sent(entry, bytes)
                .map(|content| Some(content.to_vec()));
        }
        let Some((path, mut bytes)) = self.bytes(entry)? else {
            return Ok(None);
        };
        let begin = bytes.len() - self.content(entry, &path, &bytes)?.len();
        bytes.drain(..begin);
        Ok(Some(bytes))
    }

    /// Whether an entry is in the folder, with the very bytes that were written for it.
    pub fn check(&self, entry: &Entry) -> Result<bool, JournalError> {
        let Some((path, bytes)) = self.bytes(entry)? else {
            return Ok(false);
        };
        self.content(entry, &path, &bytes).map(|_| true)
    }

    /// The file of an entry; `None` if there is none.
    fn bytes(&self, entry: &Entry) -> Result<Option<(PathBuf, Vec<u8>)>, JournalError> {
        let Some(path) = self.path(entry) else {
            return Ok(None);
        };
        if !self.has(entry)? {
            return Ok(None);
        }
        match retry_stale(|| fs::read(&path)) {
            Ok(bytes) => Ok(Some((path, bytes))),
            // What is finished of a point goes once the point is done.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(JournalError::Io { path, error }),
        }
    }

    /// What is in the file of an entry.
    fn content<'b>(
        &self,
        entry: &Entry,
        path: &Path,
        bytes: &'b [u8],
    ) -> Result<&'b [u8], JournalError> {
        envelope::opened(&self.run, entry, bytes).map_err(|mismatch| refused(path, mismatch))
    }

    /// That the file of an entry, of which only the name is known, was written for it in this run, if it is there.
    fn vouch(&self, entry: &Entry) -> Result<(), JournalError> {
        let Some((path, bytes)) = self.bytes(entry)? else {
            return Ok(());
        };
        envelope::of_run(&self.run, &entry.name, &bytes)
            .map_err(|mismatch| refused(&path, mismatch))
    }

    /// Writes an entry, whole or not at all; to the folder only if it is `lasting`.
    pub fn write<T: Serialize>(
        &self,
        entry: &Entry,
        value: &T,
        lasting: bool,
    ) -> Result<(), JournalError> {
        if !self.holds && (self.folder.is_none() || !lasting) {
            return Ok(());
        }
        let content = serde_json::to_vec(value).expect("results are JSON");
        self.put(entry, envelope::sealed(&self.run, entry, &content), lasting)
    }

    /// Removes the file of an entry, which may be gone already.
    pub fn remove(&self, entry: &Entry) -> Result<(), JournalError> {
        let Some(path) = self.path(entry) else {
            return Ok(());
        };
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(JournalError::Io { path, error })
            }
            _ => Ok(()),
        }
    }

    /// Takes what another process has computed as its journal holds it.
    pub fn admit<T: DeserializeOwned>(
        &self,
        entry: &Entry,
        bytes: Vec<u8>,
        lasting: impl FnOnce(&T) -> bool,
    ) -> Result<(), JournalError> {
        let value = self.taken(entry, &bytes)?;
        self.put(entry, bytes, lasting(&value))
    }

    /// An entry that is held, which is held no longer.
    pub fn give_away(&self, entry: &Entry) -> Option<Vec<u8>> {
        self.held().remove(&entry.name)
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Vec<u8>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is in bytes from elsewhere.
    fn taken<T: DeserializeOwned>(&self, entry: &Entry, bytes: &[u8]) -> Result<T, JournalError> {
        let content = self.sent(entry, bytes)?;
        serde_json::from_slice(content).map_err(|error| JournalError::Elsewhere {
            name: entry.name.clone(),
            what: error.to_string(),
        })
    }

    /// The content of bytes from elsewhere.
    fn sent<'b>(&self, entry: &Entry, bytes: &'b [u8]) -> Result<&'b [u8], JournalError> {
        envelope::opened(&self.run, entry, bytes).map_err(|mismatch| JournalError::Elsewhere {
            name: entry.name.clone(),
            what: match mismatch {
                Mismatch::Run(what) => what,
                Mismatch::Entry(what) | Mismatch::Changed(what) => what.to_owned(),
            },
        })
    }

    fn put(&self, entry: &Entry, bytes: Vec<u8>, lasting: bool) -> Result<(), JournalError> {
        let (Some(path), Some(beside), true) = (self.path(entry), self.beside(entry), lasting)
        else {
            self.held().insert(entry.name.clone(), bytes);
            return Ok(());
        };
        let write = || -> io::Result<()> {
            // Never through a link, never into what another process writes.
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&beside)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|error| {
            // What was written so far is of no use; if it cannot be removed, so be it.
            let _ = fs::remove_file(&beside);
            JournalError::Io { path, error }
        })
    }

    fn path(&self, entry: &Entry) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(format!("{}.json", entry.name)))
    }

    /// A name that no other process takes, nor this one twice: `.point-00001.json.PID.RANDOM.part`.
    fn beside(&self, entry: &Entry) -> Option<PathBuf> {
        let process = std::process::id();
        let random = RandomState::new().build_hasher().finish();
        let name = format!(".{}.json.{process}.{random:016x}.part", entry.name);
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Why the bytes at `path` are not used.
fn refused(path: &Path, mismatch: Mismatch) -> JournalError {
    let path = path.to_owned();
    match mismatch {
        Mismatch::Run(what) => JournalError::Foreign { path, what },
        Mismatch::Entry(what) | Mismatch::Changed(what) => JournalError::Damaged {
            path,
            line: 1,
            problem: what.to_owned(),
        },
    }
}

/// Whether what is at `path` itself, no link followed, is of that type.
fn own(path: &Path, is: impl Fn(&fs::FileType) -> bool) -> Result<bool, JournalError> {
    let found = retry_stale(|| fs::symlink_metadata(path)).map_err(|error| JournalError::Io {
        path: path.to_owned(),
        error,
    })?;
    Ok(is(&found.file_type()))
}
