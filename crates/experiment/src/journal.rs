//! Finished points on disk, so that an interrupted run goes on where it was.
//!
//! A folder with `journal.json`, which says what run it belongs to, and one file per finished
//! point or search. A file appears whole or not at all: it is written beside and renamed.

use crate::result::SCHEMA;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Which run a journal belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub schema: u32,
    pub version: String,
    pub digest: String,
    pub seed: u64,
    pub quick: bool,
}

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
        /// What the parser says.
        problem: String,
    },
    /// The journal belongs to another run.
    #[error(
        "{path}: the folder holds results of another run ({what} differs); give another folder, \
         or start afresh in this one"
    )]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
}

/// A journal in use.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
}

impl Journal {
    /// Opens the journal in `folder` for the run `header`; makes it if there is none.
    pub fn open(folder: &Path, header: &Header) -> Result<Self, JournalError> {
        let journal = Self {
            folder: folder.to_owned(),
        };
        fs::create_dir_all(folder).map_err(|error| JournalError::Io {
            path: folder.to_owned(),
            error,
        })?;
        match journal.read("journal", |_: &Header| true)? {
            None => journal.write("journal", header)?,
            Some(found) if found == *header => {}
            Some(found) => {
                let what = if found.digest != header.digest {
                    "the scenario"
                } else if found.seed != header.seed {
                    "the seed"
                } else if found.quick != header.quick {
                    "--quick"
                } else {
                    "the version of isthmus"
                };
                return Err(JournalError::Foreign {
                    path: journal.path("journal"),
                    what,
                });
            }
        }
        Ok(journal)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Reads an entry, which `is_right` must know for its own; `None` if it is not there.
    pub fn read<T: DeserializeOwned>(
        &self,
        name: &str,
        is_right: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, JournalError> {
        let path = self.path(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(JournalError::Io { path, error }),
        };
        let damaged = |line, problem| JournalError::Damaged {
            path: path.clone(),
            line,
            problem,
        };
        let entry: T = serde_json::from_str(&text)
            .map_err(|error| damaged(error.line(), error.to_string()))?;
        if !is_right(&entry) {
            return Err(damaged(1, "it is of another point".to_owned()));
        }
        Ok(Some(entry))
    }

    /// Writes an entry, whole or not at all.
    pub fn write<T: Serialize>(&self, name: &str, entry: &T) -> Result<(), JournalError> {
        let path = self.path(name);
        let beside = self.folder.join(format!(".{name}.partial"));
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            file.write_all(&serde_json::to_vec(entry)?)?;
            file.sync_all()?;
            fs::rename(&beside, &path)
        };
        write().map_err(|error| {
            // What was written so far is of no use; if it cannot be removed, so be it.
            let _ = fs::remove_file(&beside);
            JournalError::Io { path, error }
        })
    }
}

impl Header {
    /// The header of a run with this scenario digest, seed and form.
    pub fn new(digest: String, seed: u64, quick: bool) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            digest,
            seed,
            quick,
        }
    }
}
