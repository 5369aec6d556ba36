//! The tree of an export after changes in the bucket by others.

use super::bucket::Object;
use super::known::{Age, Objects};
use super::tree::{
    above, beneath, is_directory, make_above, names, open_for_showing, remove, show_object,
};
use crate::export::{Export, Place};
use crate::shared::Shared;
use isthmus_forward::{Errno, Result};
use rustix::fs::{AtFlags, FileType, Statx};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// The time for which a name is looked up without asking the store again.
const NAMES_FRESH: Duration = Duration::from_secs(1);

/// Maximum number of times that the store is asked again because clients have changed names meanwhile.
const TRIES: u32 = 3;

impl Shared {
    /// Return the maximum age as a time.
    fn age(&self, age: Age) -> Duration {
        let fresh = self
            .cache
            .as_ref()
            .map_or(Duration::ZERO, |cache| cache.fresh());
        match age {
            Age::Open => fresh,
            Age::Name => fresh.max(NAMES_FRESH),
            Age::Now => Duration::ZERO,
        }
    }

    /// Have the tree of an export show what the store has at a path from a directory, unless that is known.
    pub fn refresh_in(&self, directory: &Place, path: &[u8], age: Age) -> Result<()> {
        match directory.export.objects {
            Some(_) => self.refresh(&directory.export, &directory.path_of(path)?, age),
            None => Ok(()),
        }
    }

    /// Have the tree of an export show what the store has at a path, unless that is known.
    pub fn refresh(&self, export: &Export, path: &[u8], age: Age) -> Result<()> {
        let Some(objects) = export.objects.as_deref().filter(|_| !path.is_empty()) else {
            return Ok(());
        };
        let (started, most) = (Instant::now(), self.age(age));
        let shown = export.status_at(path).ok();
        match &shown {
            // Changes of directories are found when the one above is listed.
            Some(status) if is_directory(status) => return Ok(()),
            Some(status) if objects.is_fresh(status.stx_ino, most) => return Ok(()),
            _ => {}
        }
        let above = export.status_at(above(path));
        if above.is_ok_and(|above| objects.is_fresh(above.stx_ino, most)) {
            return Ok(());
        }
        objects.apply(
            || {
                let found = objects.bucket.find(path)?;
                let is_directory = found.is_none() && objects.bucket.has_objects(path)?;
                Ok((found, is_directory))
            },
            |(found, is_directory)| match (found, is_directory) {
                (Some(object), _) => self.show(export, objects, path, &object, started),
                (None, true) => self.show_directory(export, objects, path, started),
                (None, false) => self.hide(export, objects, path, started),
            },
        )
    }

    /// Have the tree of an export show the names that the store has in a directory, unless that is known.
    pub fn refresh_directory(&self, export: &Export, path: &[u8], age: Age) -> Result<()> {
        let Some(objects) = export.objects.as_deref() else {
            return Ok(());
        };
        let started = Instant::now();
        let status = export.status_at(path)?;
        if !is_directory(&status) || objects.is_fresh(status.stx_ino, self.age(age)) {
            return Ok(());
        }
        let emptied = objects.apply(
            || objects.bucket.list(path),
            |listed| {
                for (name, object) in &listed {
                    let path = beneath(path, name.as_bytes());
                    let shown = match object {
                        Some(object) => self.show(export, objects, &path, object, started),
                        None => self.show_directory(export, objects, &path, started),
                    };
                    if let Err(error) = shown {
                        objects
                            .bucket
                            .log("list", &path, &format!("left out: {error}"));
                    }
                }
                let mut emptied = Vec::new();
                for (name, kind) in names(export, path)? {
                    if listed.contains_key(&*String::from_utf8_lossy(&name)) {
                        continue;
                    }
                    let path = beneath(path, &name);
                    match kind {
                        FileType::Directory => emptied.push(path),
                        _ => self.hide(export, objects, &path, started)?,
                    }
                }
                objects.record_listing(status.stx_ino, started);
                Ok(emptied)
            },
        )?;
        for path in emptied {
            self.hide_directory(export, objects, &path)?;
        }
        Ok(())
    }

    /// Return whether a file of the tree has data that is not stored.
    fn is_unstored(&self, status: &Statx) -> bool {
        let cached = self.cached(None, status);
        cached.is_some_and(|(cache, file)| cache.is_unstored(&file))
    }

    /// Show an object, unless what is shown is newer than `asked`, when the store was asked, or is not stored.
    fn show(
        &self,
        export: &Export,
        objects: &Objects,
        path: &[u8],
        object: &Object,
        asked: Instant,
    ) -> Result<()> {
        let show = || {
            make_above(export, path)?;
            let file = open_for_showing(export, path)?;
            let status = show_object(&file, object)?;
            objects.record_version(status.stx_ino, object.version.clone(), asked);
            Ok(status)
        };
        let Ok(status) = export.status_at(path) else {
            return show().map(drop);
        };
        let inode = status.stx_ino;
        let is_same = objects.version(inode).as_ref() == Some(&object.version);
        if is_same {
            objects.confirm(inode, asked);
        }
        let has_size = status.stx_size == object.size;
        if (is_same && has_size) || is_directory(&status) || objects.is_newer(inode, asked) {
            return Ok(());
        }
        match self.cached(None, &status) {
            Some((cache, file)) => cache.replace(&file, show),
            None => show().map(drop),
        }
    }

    /// Show a directory in place of a file, unless the file is newer than `asked` or is not stored.
    fn show_directory(
        &self,
        export: &Export,
        objects: &Objects,
        path: &[u8],
        asked: Instant,
    ) -> Result<()> {
        match export.status_at(path).ok() {
            Some(status) if is_directory(&status) => return Ok(()),
            Some(_) => self.hide(export, objects, path, asked)?,
            None => {}
        }
        match export.status_at(path).ok() {
            Some(_) => Ok(()),
            None => make_above(export, &beneath(path, b"")),
        }
    }

    /// Remove a file from the tree that the store did not have when it was `asked`.
    fn hide(&self, export: &Export, objects: &Objects, path: &[u8], asked: Instant) -> Result<()> {
        let Some(status) = export
            .status_at(path)
            .ok()
            .filter(|status| !is_directory(status))
        else {
            return Ok(());
        };
        if objects.is_newer(status.stx_ino, asked) || self.is_unstored(&status) {
            return Ok(());
        }
        objects.remove(status.stx_ino, || remove(export, path, AtFlags::empty()))
    }

    /// Remove a directory without objects from the tree, unless a client wants it or a file in it is not stored.
    fn hide_directory(&self, export: &Export, objects: &Objects, path: &[u8]) -> Result<()> {
        let Ok(status) = export.status_at(path) else {
            return Ok(());
        };
        let known = objects.of(status.stx_ino);
        if known.is_some_and(|known| known.is_wanted) {
            return Ok(());
        }
        match self.refresh_directory(export, path, Age::Now) {
            // A client has removed it meanwhile.
            Err(Errno::NOENT) => return Ok(()),
            refreshed => refreshed?,
        }
        // It stays if something is in it, such as a file that is not stored.
        let _ = objects.remove(status.stx_ino, || remove(export, path, AtFlags::REMOVEDIR));
        Ok(())
    }
}

impl Objects {
    /// Ask the store, and change the tree by its answer. Ask again, at most [`TRIES`] times, if names have changed
    /// meanwhile.
    fn apply<T, R>(
        &self,
        ask: impl Fn() -> Result<T>,
        change: impl FnOnce(T) -> Result<R>,
    ) -> Result<R> {
        let mut tries = 0..TRIES;
        loop {
            let changes = self.changes();
            let answer = ask()?;
            let _only = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
            if self.changes() == changes || tries.next().is_none() {
                return change(answer);
            }
        }
    }
}
