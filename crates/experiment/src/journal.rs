//! The journal: storage of finished points and searches. On disk, it allows an interrupted run to resume. In
//! memory, it contains results until they are sent to the process that assembles the run.
//!
//! A journal is a folder with `journal.json`, which identifies the run, and one file per finished point or
//! search. A file appears as a whole or not at all: it is written under a temporary name and renamed. Each
//! file identifies itself ([`crate::envelope`]). A file that was not written for this run and point is
//! refused, never used.

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

/// Reason why a journal cannot be used. Its files stay unchanged.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The folder of the journal cannot be read or written.
    #[error("{path}: {error}; {}", remedy(error))]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Error that the operating system returned.
        error: io::Error,
    },
    /// A file of the journal was changed after the run had written it.
    #[error(
        "{path}:{line}: {} damaged ({problem}); delete this file{}, all others stay",
        describe_file(path).0, describe_file(path).1
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Number of the first line of the file with an error; lines count from 1.
        line: usize,
        /// Description of the error in this line.
        problem: String,
    },
    /// The journal was written for another run.
    #[error(
        "{path}: {} of another run ({what} differs); give another folder, or move this file away{}",
        describe_file(path).0, describe_file(path).1
    )]
    Foreign {
        /// Path of the file.
        path: PathBuf,
        /// Name of a property in which the run that wrote the file differs from the present one.
        what: String,
    },
    /// A worker process has sent a result that does not belong to this run.
    #[error(
        "{name}: what a worker has computed is not used ({what} differs); give all of them the same \
         isthmus and the same scenario"
    )]
    Elsewhere {
        /// Name of the journal entry.
        name: String,
        /// Description of the difference between the entry and the run.
        what: String,
    },
    /// Several processes cannot share the work through the folder, because the files by which they claim
    /// points cannot be read or written.
    #[error(transparent)]
    Claims(#[from] ClaimError),
    /// A path at which the journal needs a file or a folder of its own is of another type.
    #[error("{path}: not a {wanted} of the journal's own (links are not followed); move it away")]
    NotOwn {
        /// The path that is of another type.
        path: PathBuf,
        /// Expected type: `folder` or `file`.
        wanted: &'static str,
    },
}

impl JournalError {
    /// Return whether the error affects only one file of the journal, so that all other files can be used.
    pub(crate) fn of_one_file(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Foreign { .. } | Self::NotOwn { .. } => true,
            Self::Claims(error) => error.of_one_unit,
            Self::Io { .. } | Self::Elsewhere { .. } => false,
        }
    }

    /// Return a description of the error in a file of the journal, without the name of the file and the advice.
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

/// Return two phrases for an error message about a file of the journal: its content, and the purpose of deleting it.
fn describe_file(path: &Path) -> (&'static str, &'static str) {
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

/// Return advice for the user, as the end of an error message, on a file that cannot be read or written.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, and give the command again"
        }
        _ => "give a folder that can be read and written",
    }
}

/// An error in a file of a journal: that of one point or search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// Name of the point or search in the journal.
    pub name: String,
    /// Description of the error, for messages.
    pub reason: String,
    /// Whether the file could not be read; the entry may be valid in this case.
    pub unread: bool,
}

/// Check the entries `names` of a folder's journal and return those that are invalid. The caller identifies
/// the run by its scenario's `digest`, its seed, whether it is quick, and the version of isthmus. The journal
/// is not changed. Missing entries are not errors.
pub fn invalid_entries(
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
        let error = journal.check_file_of_run(&Entry::named(name)).err()?;
        Some(Flaw {
            name: name.clone(),
            reason: error.flaw(),
            unread: matches!(error, JournalError::Io { .. }),
        })
    };
    names.filter_map(flaw).collect()
}

/// An open journal, in a folder or in memory.
#[derive(Debug)]
pub(crate) struct Journal {
    /// The run to which the journal belongs.
    run: Run,
    /// Folder of the journal; `None` for a journal in memory.
    folder: Option<PathBuf>,
    /// Whether entries that are not written to a folder stay in memory.
    keeps_in_memory: bool,
    /// Contents of the files that are kept in memory, by the names of their entries.
    in_memory: Mutex<HashMap<String, Vec<u8>>>,
}

impl Journal {
    /// Open the journal of `run` in `folder`; create folder and journal if they do not exist.
    pub fn open(folder: &Path, run: Run) -> Result<Self, JournalError> {
        let journal = Self {
            folder: Some(folder.to_owned()),
            ..Self::nowhere(run, false)
        };
        fs::create_dir_all(folder).map_err(|error| JournalError::Io {
            path: folder.to_owned(),
            error,
        })?;
        if !is_of_type(folder, fs::FileType::is_dir)? {
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

    /// Return a journal that writes no files. If `keeps_in_memory`, entries stay in memory until [`Self::take`].
    pub fn nowhere(run: Run, keeps_in_memory: bool) -> Self {
        Self {
            run,
            folder: None,
            keeps_in_memory,
            in_memory: Mutex::default(),
        }
    }

    /// Return the folder of the journal; `None` if the journal is in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Return whether the journal has the entry, without reading the entry.
    pub fn has(&self, entry: &Entry) -> Result<bool, JournalError> {
        if self.memory().contains_key(&entry.name) {
            return Ok(true);
        }
        let Some(path) = self.path(entry) else {
            return Ok(false);
        };
        match is_of_type(&path, fs::FileType::is_file) {
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

    /// Read the stored result of a finished point or search; return `None` if it does not exist.
    pub fn read<T: DeserializeOwned>(&self, entry: &Entry) -> Result<Option<T>, JournalError> {
        if let Some(bytes) = self.memory().get(&entry.name) {
            return self.parse_received(entry, bytes).map(Some);
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

    /// Return the content of an entry as JSON bytes; `None` if the entry does not exist.
    pub fn written(&self, entry: &Entry) -> Result<Option<Vec<u8>>, JournalError> {
        if let Some(bytes) = self.memory().get(&entry.name) {
            return self
                .check_received(entry, bytes)
                .map(|content| Some(content.to_vec()));
        }
        let Some((path, mut bytes)) = self.bytes(entry)? else {
            return Ok(None);
        };
        let begin = bytes.len() - self.content(entry, &path, &bytes)?.len();
        bytes.drain(..begin);
        Ok(Some(bytes))
    }

    /// Return whether the folder of the journal has the entry. Return an error if the entry was changed or belongs to
    /// another run.
    pub fn check(&self, entry: &Entry) -> Result<bool, JournalError> {
        let Some((path, bytes)) = self.bytes(entry)? else {
            return Ok(false);
        };
        self.content(entry, &path, &bytes).map(|_| true)
    }

    /// Return the path of an entry's file and the bytes of the file; `None` if it does not exist.
    fn bytes(&self, entry: &Entry) -> Result<Option<(PathBuf, Vec<u8>)>, JournalError> {
        let Some(path) = self.path(entry) else {
            return Ok(None);
        };
        if !self.has(entry)? {
            return Ok(None);
        }
        match retry_stale(|| fs::read(&path)) {
            Ok(bytes) => Ok(Some((path, bytes))),
            // The file was removed after the check that it exists: another process removes the partial results of a
            // finished point.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(JournalError::Io { path, error }),
        }
    }

    /// Check that a file was written for this entry in this run and is unchanged, and return its content.
    fn content<'b>(
        &self,
        entry: &Entry,
        path: &Path,
        bytes: &'b [u8],
    ) -> Result<&'b [u8], JournalError> {
        envelope::opened(&self.run, entry, bytes).map_err(|mismatch| mismatch_error(path, mismatch))
    }

    /// Check that the file of an entry was written for this run, and for an entry of this name. A missing file is
    /// valid.
    fn check_file_of_run(&self, entry: &Entry) -> Result<(), JournalError> {
        let Some((path, bytes)) = self.bytes(entry)? else {
            return Ok(());
        };
        envelope::of_run(&self.run, &entry.name, &bytes)
            .map_err(|mismatch| mismatch_error(&path, mismatch))
    }

    /// Write an entry, as a whole or not at all. Only `lasting` entries are written to the folder; others
    /// stay in memory or are dropped, see `keeps_in_memory`.
    pub fn write<T: Serialize>(
        &self,
        entry: &Entry,
        value: &T,
        lasting: bool,
    ) -> Result<(), JournalError> {
        if !self.keeps_in_memory && (self.folder.is_none() || !lasting) {
            return Ok(());
        }
        let content = serde_json::to_vec(value).expect("results are JSON");
        self.store(entry, envelope::sealed(&self.run, entry, &content), lasting)
    }

    /// Remove the file of an entry. It is not an error if the file does not exist.
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

    /// Check an entry that another process has computed, and store it: in the folder if `lasting` returns true, or else
    /// in memory.
    pub fn admit<T: DeserializeOwned>(
        &self,
        entry: &Entry,
        bytes: Vec<u8>,
        lasting: impl FnOnce(&T) -> bool,
    ) -> Result<(), JournalError> {
        let value = self.parse_received(entry, &bytes)?;
        self.store(entry, bytes, lasting(&value))
    }

    /// Remove an entry from memory and return the bytes of its file; `None` if it is not in memory.
    pub fn take(&self, entry: &Entry) -> Option<Vec<u8>> {
        self.memory().remove(&entry.name)
    }

    /// Lock and return the entries in memory: the bytes of each file, by entry name.
    fn memory(&self) -> MutexGuard<'_, HashMap<String, Vec<u8>>> {
        self.in_memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Check that an entry that another process has sent belongs to this run, and return its value.
    fn parse_received<T: DeserializeOwned>(
        &self,
        entry: &Entry,
        bytes: &[u8],
    ) -> Result<T, JournalError> {
        let content = self.check_received(entry, bytes)?;
        serde_json::from_slice(content).map_err(|error| JournalError::Elsewhere {
            name: entry.name.clone(),
            what: error.to_string(),
        })
    }

    /// Check that an entry that another process has sent belongs to this run, and return its content.
    fn check_received<'b>(&self, entry: &Entry, bytes: &'b [u8]) -> Result<&'b [u8], JournalError> {
        envelope::opened(&self.run, entry, bytes).map_err(|mismatch| JournalError::Elsewhere {
            name: entry.name.clone(),
            what: match mismatch {
                Mismatch::Run(what) => what,
                Mismatch::Entry(what) | Mismatch::Changed(what) => what.to_owned(),
            },
        })
    }

    /// Store the file of an entry: in the journal's folder if `lasting` is true, or else in memory.
    fn store(&self, entry: &Entry, bytes: Vec<u8>, lasting: bool) -> Result<(), JournalError> {
        let (Some(path), Some(temporary), true) =
            (self.path(entry), self.temporary_path(entry), lasting)
        else {
            self.memory().insert(entry.name.clone(), bytes);
            return Ok(());
        };
        let write = || -> io::Result<()> {
            // Use `create_new`: the call then neither follows a symbolic link nor writes to a file of another process.
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&temporary)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        write().map_err(|error| {
            // Remove the incomplete temporary file. An error of the removal is ignored.
            let _ = fs::remove_file(&temporary);
            JournalError::Io { path, error }
        })
    }

    /// Return the path of an entry's file; `None` if the journal has no folder.
    fn path(&self, entry: &Entry) -> Option<PathBuf> {
        let folder = self.folder.as_ref()?;
        Some(folder.join(format!("{}.json", entry.name)))
    }

    /// Return a unique path for the temporary file of an entry, such as `.point-00001.json.PID.RANDOM.part`; `None` if
    /// the journal has no folder.
    fn temporary_path(&self, entry: &Entry) -> Option<PathBuf> {
        let process = std::process::id();
        let random = RandomState::new().build_hasher().finish();
        let name = format!(".{}.json.{process}.{random:016x}.part", entry.name);
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Convert a mismatch between the file at `path` and the run or entry to an error of the journal.
fn mismatch_error(path: &Path, mismatch: Mismatch) -> JournalError {
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

/// Return whether `path` is of the given type. A symbolic link is not followed.
fn is_of_type(path: &Path, is: impl Fn(&fs::FileType) -> bool) -> Result<bool, JournalError> {
    let found = retry_stale(|| fs::symlink_metadata(path)).map_err(|error| JournalError::Io {
        path: path.to_owned(),
        error,
    })?;
    Ok(is(&found.file_type()))
}
