//! A file in the cache: its data in the folder of the cache, and its handles in the store.

use crate::export::Place;
use crate::status::{WANTED, device, errno};
use isthmus_forward::cache::FileId;
use isthmus_forward::{Errno, Result};
use rustix::fs::{AtFlags, Mode, OFlags, Statx, chmod, openat, statx};
use rustix::io::{pread, pwrite};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// When an inode of the store was created, in s and ns since 1970: a later one with the same number has another
/// time. Zero where the store does not say.
pub(super) type Born = (u64, u32);

/// Return when the inode was created.
pub(super) fn born(status: &Statx) -> Born {
    let at = status.stx_btime;
    (u64::try_from(at.tv_sec).unwrap_or(0), at.tv_nsec)
}

/// A version of a file in the store: it changes when somebody changes the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    size: u64,
    modified: (i64, u32),
    changed: (i64, u32),
}

impl Version {
    /// Return the version of a file with this state.
    pub fn of(status: &Statx) -> Self {
        let (modified, changed) = (status.stx_mtime, status.stx_ctime);
        Self {
            size: status.stx_size,
            modified: (modified.tv_sec, modified.tv_nsec),
            changed: (changed.tv_sec, changed.tv_nsec),
        }
    }
}

/// The descriptors of a file in the cache.
#[derive(Debug, Default)]
struct Handles {
    data: Option<Arc<OwnedFd>>,
    reader: Option<Arc<OwnedFd>>,
    writer: Option<Arc<OwnedFd>>,
}

/// A file in the cache.
#[derive(Debug)]
pub(crate) struct File {
    pub id: FileId,
    /// Its device and inode in the store; `None` for one that a former daemon has left and that is gone.
    pub key: Option<(u64, u64)>,
    pub inode: u64,
    pub born: Born,
    /// The names by which clients have opened it, those that were removed too, with their last paths.
    places: Mutex<Vec<(Place, Vec<u8>)>>,
    /// Whether all of these names were removed, and the file has others in the store.
    is_nameless: AtomicBool,
    /// Shared by those who read and write the data; alone has it who fills it from the store, cuts it or
    /// drops parts of it.
    access: RwLock<()>,
    /// Locked while the data is synced in the cache.
    cache_sync: Mutex<()>,
    /// Locked while a client cuts the file; in a bucket, also while it renames or removes the file.
    change: Mutex<()>,
    handles: Mutex<Handles>,
    /// How often clients have changed its data or attributes.
    changes: AtomicU64,
    /// How often data of it that was not stored was given up.
    abandons: AtomicU64,
}

impl File {
    /// Describe a file, of which nothing is open.
    pub fn new(id: FileId, key: Option<(u64, u64)>, inode: u64, born: Born, place: Place) -> Self {
        let path = place.path().unwrap_or_default();
        Self {
            id,
            key,
            inode,
            born,
            places: Mutex::new(vec![(place, path)]),
            is_nameless: AtomicBool::new(false),
            access: RwLock::default(),
            cache_sync: Mutex::default(),
            change: Mutex::default(),
            handles: Mutex::default(),
            changes: AtomicU64::new(0),
            abandons: AtomicU64::new(0),
        }
    }

    /// Return how often clients have changed its data or attributes.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Return how often data of it that was not stored was given up.
    pub fn abandons(&self) -> u64 {
        self.abandons.load(Ordering::Acquire)
    }

    /// Record that data of it that was not stored is given up.
    pub fn mark_abandoned(&self) {
        self.abandons.fetch_add(1, Ordering::Release);
    }

    /// Record that a client changes its data or attributes.
    pub fn mark_changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Record a name by which a client has opened the file.
    pub fn add_place(&self, place: &Place) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if !places.iter().any(|(known, _)| known.is_same(place)) {
            places.retain(|(known, _)| known.path().is_ok());
            places.push((place.clone(), place.path().unwrap_or_default()));
        }
        self.set_nameless(false);
    }

    /// Return a name of the file, with its path; the last one that it had if all were removed.
    pub fn place(&self) -> (Place, Vec<u8>) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, path) in places.iter_mut() {
            if let Ok(now) = place.path() {
                path.clone_from(&now);
                return (place.clone(), now);
            }
        }
        let (place, path) = &places[places.len() - 1];
        (place.clone(), path.clone())
    }

    /// Return the path of a name other than this one that clients have used.
    pub fn other_path(&self, removed: &[u8]) -> Option<Vec<u8>> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let mut paths = places.iter().filter_map(|(place, _)| place.path().ok());
        paths.find(|path| path != removed)
    }

    /// Return whether no name is known by which the file can be opened again: each write is stored at once, and
    /// the log does not have the file.
    pub fn is_nameless(&self) -> bool {
        self.is_nameless.load(Ordering::Acquire)
    }

    /// Record whether a name is known by which the file can be opened again.
    pub fn set_nameless(&self, is_nameless: bool) {
        self.is_nameless.store(is_nameless, Ordering::Release);
    }

    /// Read or write the data beside others.
    pub fn share(&self) -> RwLockReadGuard<'_, ()> {
        self.access.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sync the data in the cache while no other thread does.
    pub fn sync_once(&self) -> MutexGuard<'_, ()> {
        self.cache_sync
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Change the file in the store while no other thread does.
    pub fn lock_changes(&self) -> MutexGuard<'_, ()> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Have the data alone.
    pub fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.access.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Have the data alone, if no other thread uses it now.
    pub fn try_alone(&self) -> Option<RwLockWriteGuard<'_, ()>> {
        self.access.try_write().ok()
    }

    /// Return the descriptors, locked.
    fn handles(&self) -> MutexGuard<'_, Handles> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Return the file with the data, in this folder.
    pub fn data(&self, folder: &OwnedFd) -> Result<Arc<OwnedFd>> {
        if let Some(open) = &self.handles().data {
            return Ok(Arc::clone(open));
        }
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let opened =
            openat(folder, name(self.id), flags, Mode::RUSR | Mode::WUSR).map_err(errno)?;
        Ok(Arc::clone(
            self.handles().data.get_or_insert_with(|| Arc::new(opened)),
        ))
    }

    /// Keep a handle that a client has opened in the store.
    pub fn keep(&self, handle: Arc<OwnedFd>, access: OFlags) {
        let mut handles = self.handles();
        match access & OFlags::RWMODE {
            OFlags::WRONLY => drop(handles.writer.get_or_insert(handle)),
            OFlags::RDWR => {
                handles.reader.get_or_insert_with(|| Arc::clone(&handle));
                handles.writer.get_or_insert(handle);
            }
            _ => drop(handles.reader.get_or_insert(handle)),
        }
    }

    /// Close all handles. They are opened again when they are needed.
    pub fn close(&self) {
        *self.handles() = Handles::default();
    }

    /// Close the data. It is opened again when it is needed.
    pub fn close_data(&self) {
        self.handles().data = None;
    }

    /// Return a handle in the store for reading.
    pub fn reader(&self) -> Result<Arc<OwnedFd>> {
        if let Some(open) = &self.handles().reader {
            return Ok(Arc::clone(open));
        }
        let opened = Arc::new(self.open(OFlags::RDONLY)?);
        Ok(Arc::clone(self.handles().reader.get_or_insert(opened)))
    }

    /// Return a handle in the store for writing.
    pub fn writer(&self) -> Result<Arc<OwnedFd>> {
        self.writer_by(|| self.open(OFlags::WRONLY))
    }

    /// Return a handle in the store for writing what a client has written, which may have made the file
    /// read-only afterwards.
    pub fn drain(&self) -> Result<Arc<OwnedFd>> {
        self.writer_by(|| match self.open(OFlags::WRONLY) {
            Err(Errno::ACCES) => self.open_despite_mode(),
            other => other,
        })
    }

    /// Return a handle in the store for writing, which `open` opens if there is none.
    fn writer_by(&self, open: impl FnOnce() -> Result<OwnedFd>) -> Result<Arc<OwnedFd>> {
        if let Some(open) = &self.handles().writer {
            return Ok(Arc::clone(open));
        }
        let opened = Arc::new(open()?);
        Ok(Arc::clone(self.handles().writer.get_or_insert(opened)))
    }

    /// Return any handle in the store.
    pub fn handle(&self) -> Result<Arc<OwnedFd>> {
        let known = {
            let handles = self.handles();
            handles.writer.clone().or_else(|| handles.reader.clone())
        };
        match known {
            Some(known) => Ok(known),
            None => self.reader().or_else(|_| self.writer()),
        }
    }

    /// Return a handle without access to the data.
    pub fn path_handle(&self) -> Result<Arc<OwnedFd>> {
        self.open(OFlags::PATH).map(Arc::new)
    }

    /// Open the file in the store, where another file may have its name now.
    fn open(&self, access: OFlags) -> Result<OwnedFd> {
        let mut flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if !access.contains(OFlags::PATH) {
            flags |= OFlags::NONBLOCK;
        }
        let opened = match self.place().0.open(flags) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Err(Errno::STALE),
            opened => opened?,
        };
        let status = state(&opened)?;
        match (status.stx_ino, born(&status)) == (self.inode, self.born) {
            true => Ok(opened),
            false => Err(Errno::STALE),
        }
    }

    /// Open a file for writing although its mode does not permit this: change the mode meanwhile.
    fn open_despite_mode(&self) -> Result<OwnedFd> {
        let place = self.open(OFlags::PATH)?;
        let mode = Mode::from_raw_mode(state(&place)?.stx_mode.into());
        let path = format!("/proc/self/fd/{}", place.as_raw_fd());
        chmod(&path, mode | Mode::WUSR).map_err(errno)?;
        let opened = rustix::fs::open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        chmod(&path, mode).map_err(errno)?;
        opened.map_err(errno)
    }
}

/// Return the state of an open file.
pub(super) fn state(file: impl AsFd) -> Result<Statx> {
    statx(file, c"", AtFlags::EMPTY_PATH, WANTED).map_err(errno)
}

/// Return the name of the data of a file in the folder of the cache.
pub(super) fn name(id: FileId) -> String {
    format!("{:016x}", id.0)
}

/// Return the number of the file whose data has this name.
pub(super) fn id(name: &[u8]) -> Option<FileId> {
    let name = str::from_utf8(name).ok().filter(|name| name.len() == 16)?;
    u64::from_str_radix(name, 16).ok().map(FileId)
}

/// Return the device and inode of a file in the store.
pub(super) fn key(status: &Statx) -> (u64, u64) {
    let device = device(status.stx_dev_major, status.stx_dev_minor);
    (device, status.stx_ino)
}

/// Read bytes at an offset of a file; those after its end are zero.
pub(super) fn read_all(file: &OwnedFd, bytes: &mut [u8], offset: u64) -> Result<()> {
    let mut at = 0;
    while at < bytes.len() {
        match pread(file, &mut bytes[at..], offset + at as u64) {
            Ok(0) => {
                bytes[at..].fill(0);
                return Ok(());
            }
            Ok(count) => at += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(errno(error)),
        }
    }
    Ok(())
}

/// Write bytes at an offset of a file.
pub(super) fn write_all(
    file: &OwnedFd,
    mut bytes: &[u8],
    mut offset: u64,
) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        match pwrite(file, bytes, offset) {
            Ok(0) => return Err(rustix::io::Errno::NOSPC),
            Ok(count) => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
