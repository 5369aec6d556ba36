//! Temporary names of files while they are written, and the check of the files that they replace.

use rustix::fs::{FileType, Stat};
use rustix::rand::{GetRandomFlags, getrandom};
use std::ffi::{OsStr, OsString};
use std::io;

/// The part of a file's temporary name between the final name and 32 hexadecimal digits.
const PART: &str = ".part-";

/// Maximum length in bytes of a file's final name, so that the suffix fits.
pub const NAME_MAX: usize = 255 - PART.len() - 32;

/// Returns an unguessable temporary name for a file.
pub(super) fn temporary_name(name: &OsStr) -> io::Result<OsString> {
    let mut bytes = [0; 16];
    if getrandom(&mut bytes[..], GetRandomFlags::empty())? != bytes.len() {
        return Err(io::Error::other("the system gives no random bits"));
    }
    let mut name = name.to_owned();
    name.push(format!("{PART}{:032x}", u128::from_ne_bytes(bytes)));
    Ok(name)
}

/// Returns whether a name is a temporary name of a file that is being written.
#[must_use]
pub fn is_part(name: &str) -> bool {
    let digits = name.rfind(PART).map(|at| &name[at + PART.len()..]);
    digits.is_some_and(|it| it.len() == 32 && it.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Checks that a new file may replace this existing one: it must be a writable regular file of the
/// daemon's own user.
///
/// # Errors
/// The reason for which it must not be replaced.
pub fn replaceable(there: &Stat) -> Result<(), String> {
    let why = match FileType::from_raw_mode(there.st_mode) {
        FileType::RegularFile if there.st_uid != rustix::process::geteuid().as_raw() => {
            format!("it is a file of another user (uid {})", there.st_uid)
        }
        FileType::RegularFile if there.st_mode & 0o200 == 0 => {
            let mode = there.st_mode & 0o7777;
            format!("it is read-only (mode {mode:04o})")
        }
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "it is a directory: name a file in it, as /data/image".into(),
        FileType::Symlink => "it is a symbolic link: name the file itself".into(),
        _ => "it is no regular file".into(),
    };
    Err(why)
}
