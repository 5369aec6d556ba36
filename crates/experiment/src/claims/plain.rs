//! Reading of files that other processes may write, replace or remove at the same time.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Maximum number of attempts to read a file that other processes change.
pub(crate) const TRIES: u32 = 8;

/// Call `look`, which reads a file, and repeat the call while a network file system reports `ESTALE`: another
/// machine has replaced or removed the file since `look` opened it.
///
/// # Errors
/// Any other error of `look`, and `ESTALE` from the last of eight attempts.
pub fn retry_stale<T>(mut look: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..TRIES {
        match look() {
            Err(error) if error.kind() == ErrorKind::StaleNetworkFileHandle => {}
            seen => return seen,
        }
    }
    look()
}

/// Open a regular file without following links or blocking; return `None` if it does not exist.
pub(crate) fn open_plain(path: &Path) -> io::Result<Option<File>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let mut options = OpenOptions::new();
    let opened = options.read(true).custom_flags(flags as i32).open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a plain file"));
    }
    Ok(Some(file))
}

/// Return the first `most` bytes of a file as text.
pub(crate) fn read_head(file: File, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
