//! The operations of a client on exported files.

use crate::client::Client;
use crate::export::{Export, Place};
use crate::objects::Age;
use crate::open::{Open, open_in_store};
use crate::status::{
    WANTED, errno, file_system, is_for_writing, open_flags, path_of, permissions, qid, status_at,
    status_of, times,
};
use isthmus_forward::message::{
    Attributes, Change, DaemonStatus, Entry, FileSystem, Key, Qid, UnstoredFile,
};
use isthmus_forward::{
    Errno, Files, Holder, Lock, LockMode, LockRange, Node, Opened, Result, Subject, SyncLevel,
};
use rustix::fs::{
    AtFlags, FileType, Gid, OFlags, RawDir, SeekFrom, Statx, Timespec, Uid, XattrFlags, chmod,
    chownat, fchmod, fchown, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstatfs, ftruncate,
    futimens, getxattr, linkat, listxattr, mkdirat, mknodat, readlinkat, removexattr, renameat,
    seek, setxattr, statx, symlinkat, unlinkat, utimensat,
};
use rustix::io::{pread, pwrite};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::task::Poll;

/// Size in bytes of the buffer for entries of a directory.
const ENTRIES_BYTES: usize = 32 << 10;

/// Maximum size in bytes of the value of an extended attribute, and of the list of names, as on
/// Linux.
const XATTR_BYTES: usize = 64 << 10;

impl Client {
    /// Refuse a change where clients may only read.
    fn check_writable(&self) -> Result<()> {
        match self.shared.read_only {
            true => Err(Errno::ROFS),
            false => Ok(()),
        }
    }

    /// Refresh the file of a request that has no open file.
    fn refresh(&self, of: &Subject<'_, Self>, age: Age) -> Result<()> {
        match (of.open, &of.node.export.objects) {
            (None, Some(_)) => self.shared.refresh(&of.node.export, &of.node.path()?, age),
            _ => Ok(()),
        }
    }

    /// End a file at a size.
    fn cut(&self, of: &Subject<'_, Self>, size: u64) -> Result<()> {
        self.refresh(of, Age::Now)?;
        if self.shared.cache.is_some()
            && let Some((cache, file)) = self.shared.cached(of.open, &status(of)?)
        {
            return cache.cut(&file, size);
        }
        if of.node.export.objects.is_some() {
            let flags = open_flags(0) | OFlags::WRONLY;
            let opened = Open::at(&self.shared, of.node, flags)?;
            let cached = opened.open.cached.as_ref().ok_or(Errno::INVAL)?;
            return cached.cache.cut(&cached.file, size);
        }
        let cut = of.open.map(|open| ftruncate(&*open.file, size));
        // A file that is open for reading only is opened again.
        if !matches!(cut, Some(Ok(()))) {
            let (file, _) = open_in_store(of.node, open_flags(0) | OFlags::WRONLY)?;
            ftruncate(&file, size).map_err(errno)?;
        }
        Ok(())
    }

    /// Rename an entry of a directory, and record it.
    fn rename_entry(&self, (from, old): (&Place, &[u8]), (to, new): (&Place, &[u8])) -> Result<()> {
        let (source, target) = (from.directory()?, to.directory()?);
        let mut moved = None;
        from.rename(old, to, new, || {
            // Of two names of one file, the system leaves both.
            let of = |at, name| statx(at, name, AtFlags::SYMLINK_NOFOLLOW, WANTED).ok();
            let inode =
                |status: &Statx| (status.stx_dev_major, status.stx_dev_minor, status.stx_ino);
            let replaced = of(target.as_fd(), new);
            let replaced = replaced.filter(|replaced| {
                of(source.as_fd(), old).is_none_or(|moved| inode(&moved) != inode(replaced))
            });
            let is_same = replaced.is_none() && of(target.as_fd(), new).is_some();
            let mut rename = || match &from.export.objects {
                Some(objects) => {
                    moved = objects.rename((from, old), (to, new))?;
                    Ok(())
                }
                None => renameat(&source, old, &target, new).map_err(errno),
            };
            match (&self.shared.cache, &replaced) {
                (Some(cache), Some(replaced)) => cache.remove_name(replaced, (to, new), rename)?,
                _ => rename()?,
            }
            Ok(!is_same)
        })?;
        if let (Some(objects), Some(moved)) = (&from.export.objects, moved) {
            objects.end_rename(&self.shared, &from.export, moved);
        }
        Ok(())
    }

    /// Return the holder of a lock of this client.
    fn holder(&self, range: &LockRange<'_>) -> Holder {
        Holder {
            session: self.session,
            process: range.process,
            client: range.client.to_vec(),
        }
    }
}

/// Return the state of the target of a request.
fn status(of: &Subject<'_, Client>) -> Result<Statx> {
    match of.open {
        Some(open) => status_of(&*open.file),
        None => of.node.status(),
    }
}

/// Open a path handle (`O_PATH`) for calls that take a path. Symbolic links are refused.
fn place_for_path(node: &Place) -> Result<OwnedFd> {
    let place = node.as_place()?;
    let status = status_of(&place)?;
    match FileType::from_raw_mode(status.stx_mode.into()) {
        FileType::Symlink => Err(Errno::OPNOTSUPP),
        _ => Ok(place),
    }
}

/// Refuse links and special files where the store is a bucket.
fn check_files_only(directory: &Place) -> Result<()> {
    match directory.export.objects {
        Some(_) => Err(Errno::PERM),
        None => Ok(()),
    }
}

/// Return the state of a bucket as a file system, which has no bounds: 1 PiB and 2^32 files.
fn unbounded() -> FileSystem {
    const BLOCK: u32 = 4096;
    let (blocks, files) = ((1 << 50) / u64::from(BLOCK), 1 << 32);
    FileSystem {
        kind: 0,
        block_bytes: BLOCK,
        blocks,
        free: blocks,
        available: blocks,
        files,
        free_files: files,
        id: 0,
        name_bytes: 255,
    }
}

/// Return the type, version and number of an entry of a directory that was just created.
fn created(directory: &Place, at: impl AsFd, name: &[u8]) -> Result<Qid> {
    let status = status_at(at, name)?;
    Ok(qid(&status, directory.export.device))
}

impl Files for Client {
    type Node = Place;
    type Open = Open;

    fn wants_token(&self) -> bool {
        self.must_show_token()
    }

    fn attach(&self, token: Option<&[u8]>, export: &[u8]) -> Result<Node<Place>> {
        self.admit(token)?;
        let attached = self.export(export).and_then(|(found, rest)| {
            let mut node = Export::root(found);
            let mut at = qid(&node.status()?, found.device);
            for name in rest.split(|byte| *byte == b'/') {
                match name {
                    b"" => {}
                    b"." | b".." => return Err(Errno::INVAL),
                    name => {
                        self.shared.refresh_in(&node, name, Age::Name)?;
                        (node, at) = node.walk(name)?;
                    }
                }
            }
            Ok(Node { node, qid: at })
        });
        let shown = &export[..export.len().min(256)];
        let what = format!("attach {:?}", String::from_utf8_lossy(shown));
        match &attached {
            Ok(_) => self.log(&what, "ok"),
            Err(error) => self.log_refused_export(&what, *error),
        }
        attached
    }

    fn resume(&self, key: Key) -> Result<bool> {
        let timeout = self.shared.store_timeout;
        let resumed = self.shared.sessions.resume(self.session, key, timeout);
        let result = match &resumed {
            Ok(true) => "ok: an older connection had the key",
            Ok(false) => "ok",
            Err(_) => "failed: a request of an older connection has not ended",
        };
        self.log("resume", result);
        resumed
    }

    fn walk(&self, directory: &Place, path: &[u8]) -> Result<Node<Place>> {
        if !matches!(path, b"." | b"..") {
            self.shared.refresh_in(directory, path, Age::Name)?;
        }
        let (node, qid) = directory.walk(path)?;
        Ok(Node { node, qid })
    }

    fn open(&self, node: &Place, flags: u32) -> Result<Opened<Open>> {
        let flags = open_flags(flags);
        if is_for_writing(flags) {
            self.check_writable()?;
        }
        let opened = Open::at(&self.shared, node, flags)?;
        if let Some(cached) = &opened.open.cached
            && !cached.is_for_writing()
            && let Ok(path) = node.path()
        {
            self.shared.reads(&cached.cache, &node.export, &path);
        }
        Ok(opened)
    }

    fn create(
        &self,
        directory: &Place,
        name: &[u8],
        flags: u32,
        mode: u32,
    ) -> Result<(Place, Opened<Open>)> {
        self.check_writable()?;
        let flags = open_flags(flags);
        let own = self.shared.store_flags(flags);
        let (file, status) = self.shared.create(directory, name, |is_new| {
            let own = match is_new {
                true => own - OFlags::EXCL,
                false => own,
            };
            let file = directory.create(name, own, permissions(mode))?;
            let status = status_of(&file)?;
            Ok(((file, status), status.stx_ino))
        })?;
        match FileType::from_raw_mode(status.stx_mode.into()) {
            FileType::RegularFile => {}
            _ => return Err(Errno::NXIO),
        }
        let node = directory.child(name);
        let opened = Open::new(&self.shared, file, &status, &node, flags)?;
        Ok((node, opened))
    }

    fn read(&self, open: &Open, offset: u64, bytes: &mut [u8]) -> Poll<Result<usize>> {
        let read = match &open.cached {
            None => pread(&*open.file, bytes, offset).map_err(errno),
            Some(cached) if !cached.is_for_reading() => Err(Errno::BADF),
            Some(cached) => match cached.cache.read(&cached.file, offset, bytes) {
                Ok(None) => return Poll::Pending,
                Ok(Some(count)) => Ok(count),
                Err(error) => Err(error),
            },
        };
        Poll::Ready(read.inspect(|count| open.count_read(*count)))
    }

    fn fetch(
        &self,
        directory: &Place,
        path: &[u8],
        bytes: &mut [u8],
    ) -> Poll<Result<(Attributes, usize)>> {
        let Some(cache) = &self.shared.cache else {
            return Poll::Ready(self.shared.read_stored(directory, path, bytes));
        };
        let whole = match directory.path_of(path) {
            Ok(whole) => whole,
            Err(error) => return Poll::Ready(Err(error)),
        };
        match cache.read_path(&directory.export, &whole, bytes) {
            Some(read) => {
                self.shared.reads(cache, &directory.export, &whole);
                let count = read.as_ref().map_or(0, |(_, count)| *count as u64);
                self.shared
                    .counters
                    .read
                    .fetch_add(count, Ordering::Relaxed);
                Poll::Ready(read)
            }
            None => Poll::Pending,
        }
    }

    fn status(&self) -> DaemonStatus {
        self.shared.status()
    }

    fn list_unstored(&self, from: u64, each: &mut dyn FnMut(UnstoredFile<'_>) -> bool) {
        if let Some(cache) = &self.shared.cache {
            cache.list_unstored(from, each);
        }
    }

    fn drain(&self) -> Poll<Result<()>> {
        Poll::Pending
    }

    fn abandon(&self, _: u64, _: &[u8]) -> Poll<Result<u64>> {
        let is_possible = self.check_writable().and(match self.shared.cache {
            Some(_) => Ok(()),
            None => Err(Errno::NOENT),
        });
        match is_possible {
            Ok(()) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn prefetch(&self, _: &Place, _: &[u8]) -> Poll<Result<()>> {
        match self.shared.cache {
            Some(_) => Poll::Pending,
            None => Poll::Ready(Err(Errno::OPNOTSUPP)),
        }
    }

    fn write(&self, open: &Open, offset: u64, data: &[u8]) -> Poll<Result<usize>> {
        let written = match &open.cached {
            None => pwrite(&*open.file, data, offset).map_err(errno),
            Some(cached) if !cached.is_for_writing() => Err(Errno::BADF),
            Some(cached) if cached.stores_each_write() => return Poll::Pending,
            Some(cached) => {
                let offset = cached.offset(offset);
                match cached.cache.write(&cached.file, offset, data) {
                    Ok(None) => return Poll::Pending,
                    Ok(Some(count)) => Ok(count),
                    Err(error) => Err(error),
                }
            }
        };
        Poll::Ready(written.inspect(|count| open.count_written(*count)))
    }

    fn sync(&self, _: &Open, _: SyncLevel) -> Poll<Result<()>> {
        Poll::Pending
    }

    fn close(&self, open: &Open) -> Poll<Result<()>> {
        match &open.cached {
            Some(cached) if cached.is_for_writing() => {
                match cached.cache.waits_at_close(&cached.file) {
                    true => Poll::Pending,
                    false => {
                        let error = cached.cache.error(&cached.file);
                        Poll::Ready(cached.check_abandoned().and(error))
                    }
                }
            }
            _ => Poll::Ready(Ok(())),
        }
    }

    fn read_directory(
        &self,
        open: &Open,
        offset: u64,
        each: &mut dyn FnMut(Entry<'_>) -> bool,
    ) -> Result<()> {
        seek(&*open.file, SeekFrom::Start(offset)).map_err(errno)?;
        let mut buffer = Vec::with_capacity(ENTRIES_BYTES);
        let mut entries = RawDir::new(&*open.file, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(errno)?;
            let (kind, kind_of_linux) = kinds(entry.file_type());
            let qid = Qid {
                kind,
                version: 0,
                path: entry.ino() ^ open.spread,
            };
            let entry = Entry {
                qid,
                next: entry.next_entry_cookie(),
                kind: kind_of_linux,
                name: entry.file_name().to_bytes(),
            };
            if !each(entry) {
                break;
            }
        }
        Ok(())
    }

    fn attributes(&self, of: Subject<'_, Self>) -> Result<Attributes> {
        self.refresh(&of, Age::Name)?;
        let mut found = status(&of)?;
        if let Some((cache, file)) = self.shared.cached(of.open, &found)
            && !cache.correct(&file, &mut found)
        {
            // It may have been stored since.
            found = status(&of)?;
            cache.correct(&file, &mut found);
        }
        Ok(of.node.export.attributes(found))
    }

    fn change(&self, of: Subject<'_, Self>, change: &Change) -> Result<()> {
        self.check_writable()?;
        let id = |bit, id| change.has(bit).then_some(id);
        if [id(Change::UID, change.uid), id(Change::GID, change.gid)].contains(&Some(u32::MAX)) {
            return Err(Errno::INVAL);
        }
        let owner = id(Change::UID, change.uid).map(Uid::from_raw);
        let group = id(Change::GID, change.gid).map(Gid::from_raw);
        if owner.is_some() || group.is_some() {
            match of.open {
                Some(open) => fchown(&*open.file, owner, group),
                None => {
                    let place = of.node.as_place()?;
                    chownat(&place, c"", owner, group, AtFlags::EMPTY_PATH)
                }
            }
            .map_err(errno)?;
        }
        if change.has(Change::MODE) {
            let mode = permissions(change.mode);
            match of.open {
                Some(open) => fchmod(&*open.file, mode),
                None => chmod(path_of(&place_for_path(of.node)?), mode),
            }
            .map_err(errno)?;
        }
        if change.has(Change::SIZE) {
            self.cut(&of, change.size)?;
        }
        if let Some(times) = times(change)? {
            match of.open {
                Some(open) => futimens(&*open.file, &times),
                None => {
                    let (directory, name) = match of.node.entry() {
                        Ok((directory, name)) => (directory, name),
                        // The root of an export has no name.
                        Err(_) => (of.node.clone(), b".".to_vec()),
                    };
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    utimensat(directory.directory()?, &name, &times, flags)
                }
            }
            .map_err(errno)?;
            if self.shared.cache.is_some() && change.has(Change::MODIFIED) {
                let status = status(&of)?;
                if let Some((cache, file)) = self.shared.cached(of.open, &status) {
                    let at = Timespec {
                        tv_sec: status.stx_mtime.tv_sec,
                        tv_nsec: status.stx_mtime.tv_nsec.into(),
                    };
                    cache.set_modified(&file, at)?;
                }
            }
        }
        let keeps_paths = self
            .shared
            .cache
            .as_ref()
            .is_some_and(|cache| cache.keeps_paths());
        if keeps_paths && let Some((_, file)) = self.shared.cached(of.open, &status(&of)?) {
            file.mark_changed();
        }
        Ok(())
    }

    fn file_system(&self, of: Subject<'_, Self>) -> Result<FileSystem> {
        if of.node.export.objects.is_some() {
            return Ok(unbounded());
        }
        let state = match of.open {
            Some(open) => fstatfs(&open.file),
            None => fstatfs(of.node.as_place()?),
        };
        state.map(|state| file_system(&state)).map_err(errno)
    }

    fn read_link(&self, node: &Place) -> Result<Vec<u8>> {
        let place = node.as_place()?;
        match readlinkat(&place, c"", Vec::new()) {
            Ok(target) => Ok(target.into_bytes()),
            // What the system says of a file that is no link.
            Err(rustix::io::Errno::NOENT) => Err(Errno::INVAL),
            Err(error) => Err(errno(error)),
        }
    }

    fn symlink(&self, directory: &Place, name: &[u8], target: &[u8]) -> Result<Qid> {
        self.check_writable()?;
        check_files_only(directory)?;
        let at = directory.directory()?;
        symlinkat(target, &at, name).map_err(errno)?;
        created(directory, &at, name)
    }

    fn make_node(
        &self,
        directory: &Place,
        name: &[u8],
        mode: u32,
        _device: (u32, u32),
    ) -> Result<Qid> {
        self.check_writable()?;
        let kind = FileType::from_raw_mode(mode);
        match kind {
            FileType::RegularFile => {}
            FileType::Fifo | FileType::Socket => check_files_only(directory)?,
            // A device would be one of the daemon's machine.
            _ => return Err(Errno::PERM),
        }
        self.shared.create(directory, name, |is_new| {
            let at = directory.directory()?;
            match mknodat(&at, name, kind, permissions(mode), 0).map_err(errno) {
                Err(Errno::EXIST) if is_new => {}
                made => made?,
            }
            let status = status_at(&at, name)?;
            Ok((qid(&status, directory.export.device), status.stx_ino))
        })
    }

    fn make_directory(&self, directory: &Place, name: &[u8], mode: u32) -> Result<Qid> {
        self.check_writable()?;
        self.shared.refresh_in(directory, name, Age::Open)?;
        let at = directory.directory()?;
        mkdirat(&at, name, permissions(mode)).map_err(errno)?;
        let status = status_at(&at, name)?;
        if let Some(objects) = &directory.export.objects {
            objects.keep_directory(status.stx_ino);
        }
        Ok(qid(&status, directory.export.device))
    }

    fn link(&self, node: &Place, directory: &Place, name: &[u8]) -> Result<()> {
        self.check_writable()?;
        if !node.is_in_same_export(directory) {
            return Err(Errno::XDEV);
        }
        check_files_only(directory)?;
        let (from, old) = node.entry()?;
        let (from, to) = (from.directory()?, directory.directory()?);
        linkat(from, &old, &to, name, AtFlags::empty()).map_err(errno)?;
        if let Some(cache) = &self.shared.cache
            && let Ok(status) = statx(&to, name, AtFlags::SYMLINK_NOFOLLOW, WANTED)
        {
            cache.add_name(&status, &directory.child(name));
        }
        Ok(())
    }

    fn rename(&self, from: &Place, old: &[u8], to: &Place, new: &[u8]) -> Result<()> {
        self.check_writable()?;
        if !from.is_in_same_export(to) {
            return Err(Errno::XDEV);
        }
        self.shared.refresh_in(from, old, Age::Now)?;
        self.shared.refresh_in(to, new, Age::Now)?;
        let cache = self.shared.cache.as_ref();
        let operation = cache.map(|cache| cache.begin_rename((from, old), (to, new)));
        let operation = operation.transpose()?.flatten();
        let names = [(from, old), (to, new)];
        let renamed = self
            .shared
            .while_idle(&names, || self.rename_entry((from, old), (to, new)));
        if let Some(cache) = &self.shared.cache {
            cache.end_rename(operation, renamed.is_ok());
            cache.forget_paths();
        }
        renamed
    }

    fn rename_node(&self, node: &Place, to: &Place, new: &[u8]) -> Result<()> {
        let (from, old) = node.entry()?;
        self.rename(&from, &old, to, new)
    }

    fn unlink(&self, directory: &Place, name: &[u8], is_directory: bool) -> Result<()> {
        self.check_writable()?;
        let flags = match is_directory {
            true => AtFlags::REMOVEDIR,
            false => AtFlags::empty(),
        };
        self.shared.refresh_in(directory, name, Age::Open)?;
        if is_directory {
            let path = directory.path_of(name)?;
            self.shared
                .refresh_directory(&directory.export, &path, Age::Now)?;
        }
        let at = directory.directory()?;
        let unlink = || {
            directory.unlink(name, || {
                let remove = || match &directory.export.objects {
                    Some(objects) => objects.unlink((directory, name), flags),
                    None => unlinkat(&at, name, flags).map_err(errno),
                };
                match self.shared.cache.as_ref().filter(|_| !is_directory) {
                    None => remove(),
                    Some(cache) => {
                        let status = statx(at.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW, WANTED);
                        cache.remove_name(&status.map_err(errno)?, (directory, name), remove)
                    }
                }
            })
        };
        let removed = self.shared.while_idle(&[(directory, name)], unlink);
        self.shared
            .cache
            .as_ref()
            .inspect(|cache| cache.forget_paths());
        removed
    }

    fn remove_node(&self, node: &Place) -> Result<()> {
        let (directory, name) = node.entry()?;
        let mode = node.status()?.stx_mode;
        let is_directory = FileType::from_raw_mode(mode.into()) == FileType::Directory;
        self.unlink(&directory, &name, is_directory)
    }

    fn xattr(&self, of: Subject<'_, Self>, name: &[u8]) -> Result<Vec<u8>> {
        check_has_xattrs(of.node)?;
        let mut value = vec![0; XATTR_BYTES];
        let size = match of.open {
            Some(open) => fgetxattr(&*open.file, name, &mut value),
            None => getxattr(path_of(&place_for_path(of.node)?), name, &mut value),
        };
        value.truncate(size.map_err(errno)?);
        value.shrink_to_fit();
        Ok(value)
    }

    fn xattrs(&self, of: Subject<'_, Self>) -> Result<Vec<u8>> {
        check_has_xattrs(of.node)?;
        let mut names = vec![0; XATTR_BYTES];
        let size = match of.open {
            Some(open) => flistxattr(&*open.file, &mut names),
            None => match place_for_path(of.node) {
                Ok(place) => listxattr(path_of(&place), &mut names),
                // The attributes of symbolic links are not served: there are none.
                Err(Errno::OPNOTSUPP) => Ok(0),
                Err(other) => return Err(other),
            },
        };
        names.truncate(size.map_err(errno)?);
        names.shrink_to_fit();
        Ok(names)
    }

    fn set_xattr(
        &self,
        of: Subject<'_, Self>,
        name: &[u8],
        value: Option<&[u8]>,
        flags: u32,
    ) -> Result<()> {
        self.check_writable()?;
        check_has_xattrs(of.node)?;
        // Others give programs rights, or are the system's.
        if !name.starts_with(b"user.") && !name.starts_with(b"system.posix_acl_") {
            return Err(Errno::PERM);
        }
        let flags = XattrFlags::from_bits_truncate(flags);
        match (of.open, value) {
            (Some(open), Some(value)) => fsetxattr(&*open.file, name, value, flags),
            (Some(open), None) => fremovexattr(&*open.file, name),
            (None, value) => {
                let place = place_for_path(of.node)?;
                match value {
                    Some(value) => setxattr(path_of(&place), name, value, flags),
                    None => removexattr(path_of(&place), name),
                }
            }
        }
        .map_err(errno)
    }

    fn lock(&self, open: &Open, range: &LockRange<'_>) -> Result<bool> {
        let (mut locks, holder) = (self.shared.sessions.locks(), self.holder(range));
        let Some(mode) = range.mode else {
            locks.unlock(open.id, holder, range.start, range.end);
            return Ok(true);
        };
        let wanted = lock(holder, mode, range);
        locks.lock(open.id, wanted)
    }

    fn unlock_all(&self) {
        self.shared.sessions.locks().end_session(self.session);
    }

    fn conflict(&self, open: &Open, range: &LockRange<'_>) -> Result<Option<Lock>> {
        let mode = range.mode.ok_or(Errno::INVAL)?;
        let wanted = lock(self.holder(range), mode, range);
        Ok(self
            .shared
            .sessions
            .locks()
            .conflict(&open.id, &wanted)
            .cloned())
    }
}

/// Refuse extended attributes where there are none: in a bucket.
fn check_has_xattrs(node: &Place) -> Result<()> {
    match node.export.objects {
        Some(_) => Err(Errno::OPNOTSUPP),
        None => Ok(()),
    }
}

/// Return the lock of a holder on a range of bytes.
fn lock(holder: Holder, mode: LockMode, range: &LockRange<'_>) -> Lock {
    let (start, end) = (range.start, range.end);
    Lock {
        holder,
        mode,
        start,
        end,
    }
}

/// Return the type of a file as a qid has it, and as `d_type` of Linux.
fn kinds(kind: FileType) -> (u8, u8) {
    match kind {
        FileType::Fifo => (Qid::FILE, 1),
        FileType::CharacterDevice => (Qid::FILE, 2),
        FileType::Directory => (Qid::DIRECTORY, 4),
        FileType::BlockDevice => (Qid::FILE, 6),
        FileType::RegularFile => (Qid::FILE, 8),
        FileType::Symlink => (Qid::SYMLINK, 10),
        FileType::Socket => (Qid::FILE, 12),
        _ => (Qid::FILE, 0),
    }
}
