//! Export roots: directories below which clients may name files.
//!
//! Each root is opened once. A path below a root is resolved beneath the opened directory and
//! without symbolic links, so that the result is below the root even if links change during the
//! resolution.

use isthmus_wire::{Error, Result};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

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
            let opened = openat(CWD, path, DIRECTORY, Mode::empty());
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
        all.find_map(|(path, root)| Some(walk(root, real.strip_prefix(path).ok()?)))
    }
}

/// Open the directory at `path`, relative to the open directory `root`. Refuse a path with a part
/// that is not the name of a directory, such as `..` or a symbolic link.
fn walk(root: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let mut at = root.try_clone().map_err(|_| Errno::MFILE)?;
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(Errno::XDEV);
        };
        at = openat(&at, name, DIRECTORY, Mode::empty())?;
    }
    Ok(at)
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
        // Replace the directory by a symbolic link: the export root must still be the directory
        // that was opened at first.
        let (moved, first) = (folder.join("moved"), of(&data));
        std::fs::rename(&data, moved).unwrap();
        symlink(&out, &data).unwrap();
        assert_eq!(inode(roots.directory(&data).unwrap().unwrap()), first);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
