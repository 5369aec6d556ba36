//! Changes of names by clients: in the store, then in the tree of the export.

use super::bucket::Replaces;
use super::known::{Age, Objects};
use super::tree::{above, is_directory, open_for_showing};
use crate::export::{Export, Place};
use crate::shared::Shared;
use crate::status::{errno, status_at, status_of};
use isthmus_forward::{Errno, Result};
use rustix::fs::{Access, AtFlags, Statx, accessat, ftruncate, renameat, unlinkat};
use std::os::fd::AsFd;
use std::time::Instant;

/// Maximum number of attempts to create or rename a file that other programs change meanwhile.
const TRIES: u32 = 3;

/// A file that has got another name in the store and in the tree.
pub(crate) struct Moved {
    status: Statx,
    version: String,
    old_path: Vec<u8>,
}

impl Objects {
    /// Store an empty object for a file that is about to be created. Return its version; `None` if there is an object
    /// already, which the tree shows then.
    fn create(&self, shared: &Shared, export: &Export, path: &[u8]) -> Result<Option<String>> {
        for _ in 0..TRIES {
            match self.bucket.store_empty(path, Replaces::Nothing, None) {
                Err(Errno::EXIST) => shared.refresh(export, path, Age::Now)?,
                created => return created.map(Some),
            }
            if export.status_at(path).is_ok() {
                return Ok(None);
            }
        }
        Err(Errno::BUSY)
    }

    /// Return the version of the object that an upload of the file may replace: the one that the file was written to, or
    /// that of an earlier upload by this daemon whose answer was lost.
    ///
    /// # Errors
    /// [`Errno::STALE`] if it has another one, which is logged.
    pub fn base(&self, export: &Export, path: &[u8], inode: u64) -> Result<String> {
        let asked = Instant::now();
        let known = self.of(inode).unwrap_or_default();
        let text = match self.bucket.find(path)? {
            None => "conflict: another program has removed the object",
            Some(object) => {
                if object.mark.is_some() && object.mark == known.mark {
                    // The bytes that the cache does not have are those of this object.
                    let file = open_for_showing(export, path)?;
                    if status_of(&file)?.stx_ino == inode {
                        ftruncate(&file, object.size).map_err(errno)?;
                    }
                    self.record_version(inode, object.version.clone(), asked);
                    return Ok(object.version);
                }
                if known.version.as_ref() == Some(&object.version) {
                    return Ok(object.version);
                }
                "conflict: another program has changed the object"
            }
        };
        self.bucket.log("store", path, text);
        Err(Errno::STALE)
    }

    /// Store an empty object with a mark in place of a version.
    pub fn store_empty(&self, path: &[u8], inode: u64, base: &str, mark: &str) -> Result<()> {
        let replaced = Replaces::Version(base);
        let version = self.bucket.store_empty(path, replaced, Some(mark))?;
        self.record_version(inode, version, Instant::now());
        Ok(())
    }

    /// Rename an entry of a directory: copy the object of a file in the store, then rename the entry in the tree. Return
    /// the file, for [`Objects::end_rename`], which removes the old object.
    ///
    /// # Errors
    /// [`Errno::XDEV`] for a directory with objects; [`Errno::STALE`] for a conflict.
    pub fn rename(
        &self,
        (from, old): (&Place, &[u8]),
        (to, new): (&Place, &[u8]),
    ) -> Result<Option<Moved>> {
        let (source, target) = (from.directory()?, to.directory()?);
        let (old_path, new_path) = (from.path_of(old)?, to.path_of(new)?);
        let moved = status_at(&source, old)?;
        let rename = || renameat(&source, old, &target, new).map_err(errno);
        if old_path == new_path {
            return rename().map(|()| None);
        }
        if is_directory(&moved) {
            // Programs copy the files one by one then.
            return match self.bucket.has_objects(&old_path)? {
                true => Err(Errno::XDEV),
                false => rename().map(|()| None),
            };
        }
        if status_at(&target, new).is_ok_and(|replaced| is_directory(&replaced)) {
            return Err(Errno::ISDIR);
        }
        check_changeable(&source)?;
        check_changeable(&target)?;
        let mut tries = 1..TRIES;
        let version = loop {
            let base = self.base(&from.export, &old_path, moved.stx_ino)?;
            let version = self.bucket.copy(&old_path, &new_path)?;
            let found = self.bucket.find(&old_path)?;
            if found.is_some_and(|object| object.version == base) {
                break version;
            }
            // The store may have copied a version that was stored after the check.
            tries.next().ok_or(Errno::STALE)?;
        };
        rename()?;
        Ok(Some(Moved {
            status: moved,
            version,
            old_path,
        }))
    }

    /// End a rename, after the names of the export have changed.
    pub fn end_rename(&self, shared: &Shared, export: &Export, moved: Moved) {
        self.record_version(moved.status.stx_ino, moved.version, Instant::now());
        self.record_change();
        if let Some((cache, file)) = shared.cached(None, &moved.status) {
            cache.record_base(&file);
        }
        self.keep_above(export, &moved.old_path);
        // A failure is logged, and the old name reappears.
        let _ = self.bucket.remove(&moved.old_path);
    }

    /// Remove an entry of a directory, with flags of the system.
    pub fn unlink(&self, (directory, name): (&Place, &[u8]), flags: AtFlags) -> Result<()> {
        let (path, at) = (directory.path_of(name)?, directory.directory()?);
        let status = status_at(&at, name)?;
        let remove = || unlinkat(&at, name, flags).map_err(errno);
        if is_directory(&status) || flags.contains(AtFlags::REMOVEDIR) {
            return self.remove(status.stx_ino, remove);
        }
        check_changeable(&at)?;
        self.bucket.remove(&path)?;
        self.remove(status.stx_ino, remove)?;
        self.keep_above(&directory.export, &path);
        Ok(())
    }

    /// Keep the directory above a path, although it may have no objects any more.
    fn keep_above(&self, export: &Export, path: &[u8]) {
        if let Ok(status) = export.status_at(above(path)) {
            self.keep_directory(status.stx_ino);
        }
    }
}

/// Check that names in a directory of the tree can be changed, before they are changed in the store.
fn check_changeable(directory: impl AsFd) -> Result<()> {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    accessat(directory, ".", access, AtFlags::EACCESS).map_err(errno)
}

impl Shared {
    /// Change names while nothing of their files is being stored, if their store is a bucket.
    pub fn while_idle<T>(
        &self,
        names: &[(&Place, &[u8])],
        change: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(cache) = &self.cache else {
            return change();
        };
        let mut files = Vec::new();
        for (directory, name) in names {
            if directory.export.objects.is_some()
                && let Ok(status) = directory.export.status_at(&directory.path_of(name)?)
                && let Some(file) = cache.find(&status)
            {
                files.push(file);
            }
        }
        match files.is_empty() {
            true => change(),
            false => cache.while_idle(files, change),
        }
    }

    /// Create an entry of a directory by `create`, which returns its inode as well. If the export is a bucket, the object
    /// is created first. `create` gets whether the object is new: then the entry may exist already.
    pub fn create<T>(
        &self,
        directory: &Place,
        name: &[u8],
        create: impl FnOnce(bool) -> Result<(T, u64)>,
    ) -> Result<T> {
        let Some(objects) = &directory.export.objects else {
            return create(false).map(|(created, _)| created);
        };
        check_changeable(directory.directory()?)?;
        let path = directory.path_of(name)?;
        self.refresh(&directory.export, &path, Age::Now)?;
        let version = match directory.export.status_at(&path) {
            Ok(_) => None,
            Err(_) => objects.create(self, &directory.export, &path)?,
        };
        let (created, inode) = create(version.is_some())?;
        if let Some(version) = version {
            objects.record_version(inode, version, Instant::now());
        }
        Ok(created)
    }
}
