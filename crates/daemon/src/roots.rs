//! Export roots: directories below which clients may name files.
//!
//! Each root is opened once. A path below a root is resolved beneath the opened directory and
//! without symbolic links, so that the result is below the root even if links change during the
//! resolution.

use isthmus_wire::{Error, Result};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The flags that open a directory only as a start for looking up names below it.
const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The export roots of a daemon: each path with its open directory.
#[derive(Debug, Default)]
pub struct Roots(Vec<(PathBuf, OwnedFd)>);

impl Roots {
    /// Open the directories of the export roots, whose paths must not contain symbolic links.
    ///
    /// # Errors
    /// A directory that cannot be opened.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        let each = paths.iter().map(|path| {
            let opened = open_directory(path);
            let what = || format!("directory {} for files", path.display());
            let opened = opened.map_err(|error| Error::system(what(), error))?;
            Ok((path.clone(), opened))
        });
        Ok(Self(each.collect::<Result<_>>()?))
    }

    /// Return the paths of the export roots.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(|(path, _)| path.as_path())
    }

    /// Return the open directory of the first export root; `None` if there are no export roots.
    #[must_use]
    pub fn first(&self) -> Option<&OwnedFd> {
        self.0.first().map(|(_, opened)| opened)
    }

    /// Open a directory given by its path; `None` if no export root contains it. The path must not
    /// contain symbolic links.
    #[must_use]
    pub fn directory(&self, real: &Path) -> Option<rustix::io::Result<OwnedFd>> {
        let mut all = self.0.iter();
        let (root, path) =
            all.find_map(|(path, root)| Some((root, real.strip_prefix(path).ok()?)))?;
        if path.components().any(|part| part == Component::ParentDir) {
            return Some(Err(Errno::XDEV));
        }
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        Some(open_beneath(root, path, DIRECTORY, Mode::empty()))
    }
}

/// Open a directory as a start for looking up names below it. Its path must not end in a symbolic
/// link.
///
/// # Errors
/// The error of the system.
pub fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat(CWD, path, DIRECTORY, Mode::empty())
}

/// Open a file at a path beneath an open directory. A symbolic link on the way is refused, and one at
/// its end unless the link itself is opened; `..` never leads out. `mode` is that of a new file.
///
/// # Errors
/// The error of the system.
pub fn open_beneath(
    root: impl AsFd,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    /// Whether the system has shown that it has no `openat2`: kernels before 5.6.
    static IS_OLD: AtomicBool = AtomicBool::new(false);
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if !IS_OLD.load(Ordering::Relaxed) {
        match openat2(&root, path, flags, mode, beneath) {
            Err(Errno::NOSYS) => IS_OLD.store(true, Ordering::Relaxed),
            result => return result,
        }
    }
    walk(root.as_fd(), path, flags, mode)
}

/// Open a file as [`open_beneath`] does, one part of the path at a time.
fn walk(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let mut parts = path.components().peekable();
    let mut at = None;
    let or_root = |at: &Option<OwnedFd>, name: &OsStr, flags, mode| match at {
        Some(at) => openat(at, name, flags, mode),
        None => openat(root, name, flags, mode),
    };
    while let Some(part) = parts.next() {
        let name = match part {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            _ => return Err(Errno::XDEV),
        };
        if parts.peek().is_none() {
            return or_root(&at, name, flags | OFlags::NOFOLLOW, mode);
        }
        at = Some(or_root(&at, name, DIRECTORY, Mode::empty())?);
    }
    Err(Errno::NOENT)
}

/// Open an entry of a directory with `O_PATH`, without following a symbolic link.
///
/// # Errors
/// The error of the system.
pub fn open_path(directory: impl AsFd, name: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Checks that only directories below an export root can be opened: paths with symbolic links
    /// or `..` are refused.
    #[test]
    fn only_directories_below_a_root_are_opened() {
        let name = format!("isthmus-roots-{}", std::process::id());
        let folder = std::env::temp_dir().canonicalize().unwrap().join(name);
        let (data, out) = (folder.join("data"), folder.join("out"));
        std::fs::create_dir_all(data.join("a/b")).unwrap();
        std::fs::create_dir_all(out.join("b")).unwrap();
        symlink(&out, data.join("away")).unwrap();
        symlink("a", data.join("near")).unwrap();
        std::fs::write(data.join("file"), "").unwrap();
        let roots = Roots::open(std::slice::from_ref(&data)).unwrap();
        let inode = |fd: OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
        let of = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
        for path in ["", "a", "a/b", "a/./b"] {
            let path = data.join(path);
            let found = roots.directory(&path).unwrap().unwrap();
            assert_eq!(inode(found), of(&path), "{path:?}");
        }
        for path in [
            "away", "away/b", "near", "near/b", "file", "none", "..", "a/../a",
        ] {
            assert!(
                roots.directory(&data.join(path)).unwrap().is_err(),
                "{path}"
            );
        }
        assert!(roots.directory(&out).is_none());
        assert!(roots.directory(&folder.join("data2")).is_none());
        // Without `openat2`, the result is the same, part by part.
        let root = open_directory(&data).unwrap();
        let place = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        for path in [
            ".", "a", "a/b", "file", "near", "away", "near/b", "away/b", "none", "file/x", "..",
            "/",
        ] {
            let path = Path::new(path);
            let beneath = open_beneath(&root, path, place, Mode::empty());
            let walked = walk(root.as_fd(), path, place, Mode::empty());
            assert_eq!(beneath.is_ok(), walked.is_ok(), "{path:?}");
            if let (Ok(beneath), Ok(walked)) = (beneath, walked) {
                assert_eq!(inode(beneath), inode(walked), "{path:?}");
            }
        }
        for (path, is_made) in [
            ("new", true),
            ("a/new", true),
            ("away/new", false),
            ("../new", false),
        ] {
            let made = walk(root.as_fd(), Path::new(path), create, Mode::RWXU);
            assert_eq!(made.is_ok(), is_made, "{path}");
        }
        assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
        // Replace the directory by a symbolic link: the export root must still be the directory
        // that was opened at first.
        let (moved, first) = (folder.join("moved"), of(&data));
        std::fs::rename(&data, moved).unwrap();
        symlink(&out, &data).unwrap();
        assert_eq!(inode(roots.directory(&data).unwrap().unwrap()), first);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
