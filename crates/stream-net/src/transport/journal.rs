//! The journal of the files that a daemon is writing. After a daemon was killed, the next one reads
//! from it which unfinished files to remove.
//!
//! Each writing thread has a slot, which holds the path of its file, padded with zeros, or is
//! empty.

use super::writers::WRITERS_MAX;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Size of a slot in bytes. Every path that the system accepts fits.
const SLOT: usize = 4096;

/// The journal of a driver: a file with the paths of the files that the driver is writing at the
/// moment.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Creates a journal in this empty file. The space on the disk is reserved, so that a full disk
    /// does not prevent writing files elsewhere.
    ///
    /// # Errors
    /// The disk has no room for it.
    pub fn new(file: File) -> io::Result<Self> {
        let bytes = (WRITERS_MAX * SLOT) as u64;
        match fallocate(&file, FallocateFlags::empty(), 0, bytes) {
            // The journal also works on a file system that cannot reserve space.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(Self(file)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the paths of the files that a journal contains.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn paths(file: &File) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for slot in 0..WRITERS_MAX {
            let mut bytes = [0; SLOT];
            let mut got = 0;
            while got < SLOT {
                match file.read_at(&mut bytes[got..], (slot * SLOT + got) as u64)? {
                    0 => break,
                    more => got += more,
                }
            }
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(SLOT);
            if end > 0 {
                paths.push(std::ffi::OsString::from_vec(bytes[..end].to_vec()).into());
            }
        }
        Ok(paths)
    }

    /// Writes the path of a file to a slot of the journal.
    pub(super) fn note(&self, slot: usize, path: &Path) -> io::Result<()> {
        let mut bytes = [0; SLOT];
        let path = path.as_os_str().as_bytes();
        let place = bytes[..SLOT - 1].get_mut(..path.len());
        let place = place.ok_or(io::ErrorKind::InvalidFilename)?;
        place.copy_from_slice(path);
        self.0.write_all_at(&bytes, (slot * SLOT) as u64)
    }

    /// Empties a slot of the journal.
    pub(super) fn clear(&self, slot: usize) {
        // Ignore an error: the slot then names a file that no longer exists, which does no harm.
        let _ = self.0.write_all_at(&[0], (slot * SLOT) as u64);
    }
}
