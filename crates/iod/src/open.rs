//! An open file of a client, with its cached data.

use crate::cache::{Cache, File};
use crate::export::Place;
use crate::objects::{Age, is_directory};
use crate::shared::Shared;
use crate::status::{device, errno, is_for_writing, path_of, qid, spread, status_of};
use isthmus_forward::{Done, Errno, Job, Opened, Result, SyncLevel};
use rustix::fs::{FileType, Mode, OFlags, Statx, fdatasync, fsync, open};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The cached data of an open file.
pub(crate) struct Cached {
    pub cache: Arc<Cache>,
    pub file: Arc<File>,
    /// The flags with which the client has opened it.
    pub flags: OFlags,
    /// How often data of the file was given up, as far as the client knows.
    pub abandons: AtomicU64,
}

impl Cached {
    /// Return the offset of a write; `None` for the end of the file.
    pub fn offset(&self, offset: u64) -> Option<u64> {
        (!self.flags.contains(OFlags::APPEND)).then_some(offset)
    }

    /// Return whether each write is stored before the client gets the reply.
    pub fn stores_each_write(&self) -> bool {
        self.flags.intersects(OFlags::SYNC | OFlags::DSYNC)
    }

    /// Fail once if data of the file was given up that was not stored: it may be what this client has written.
    pub fn check_abandoned(&self) -> Result<()> {
        let now = self.file.abandons();
        match self.abandons.swap(now, Ordering::AcqRel) == now {
            true => Ok(()),
            false => Err(Errno::IO),
        }
    }

    /// Return whether the client may write.
    pub fn is_for_writing(&self) -> bool {
        self.flags & OFlags::RWMODE != OFlags::RDONLY
    }

    /// Return whether the client may read.
    pub fn is_for_reading(&self) -> bool {
        self.flags & OFlags::RWMODE != OFlags::WRONLY
    }
}

/// An open file or directory.
pub(crate) struct Open {
    /// The file in the store.
    pub file: Arc<OwnedFd>,
    /// Its cached data, if it is an ordinary file and there is a cache.
    pub cached: Option<Cached>,
    /// The number of the file in the system, for locks: device and inode.
    pub id: (u64, u64),
    /// The number by which inodes of this file system are changed in qids.
    pub spread: u64,
    pub shared: Arc<Shared>,
}

impl Open {
    /// Open an ordinary file or a directory, with flags of the client.
    pub fn at(shared: &Arc<Shared>, place: &Place, flags: OFlags) -> Result<Opened<Self>> {
        if place.export.objects.is_some() {
            let path = place.path()?;
            let age = match is_for_writing(flags) {
                true => Age::Now,
                false => Age::Open,
            };
            shared.refresh(&place.export, &path, age)?;
            if is_directory(&place.export.status_at(&path)?) {
                shared.refresh_directory(&place.export, &path, Age::Open)?;
            }
        }
        let (file, status) = open_in_store(place, shared.store_flags(flags))?;
        Self::new(shared, file, &status, place, flags)
    }

    /// Count a file that is open in the store, and return it with its type, version and number. `flags` are those
    /// of the client.
    pub fn new(
        shared: &Arc<Shared>,
        file: OwnedFd,
        status: &Statx,
        place: &Place,
        flags: OFlags,
    ) -> Result<Opened<Self>> {
        let count = shared.open_files.fetch_add(1, Ordering::Relaxed);
        let home = place.export.device;
        let mut open = Self {
            file: Arc::new(file),
            cached: None,
            id: (
                device(status.stx_dev_major, status.stx_dev_minor),
                status.stx_ino,
            ),
            spread: spread(status, home),
            shared: Arc::clone(shared),
        };
        if count >= shared.open_files_limit {
            return Err(Errno::NFILE);
        }
        let is_file = FileType::from_raw_mode(status.stx_mode.into()) == FileType::RegularFile;
        if let Some(cache) = shared.cache.as_ref().filter(|_| is_file) {
            let handle = Arc::clone(&open.file);
            let file = cache.open(place, handle, status, flags)?;
            let cache = Arc::clone(cache);
            let abandons = AtomicU64::new(file.abandons());
            let cached = open.cached.insert(Cached {
                cache,
                file,
                flags,
                abandons,
            });
            if flags.contains(OFlags::TRUNC) {
                cached.cache.cut(&cached.file, 0)?;
            }
        }
        let qid = qid(status, home);
        Ok(Opened { open, qid })
    }
}

/// Open an ordinary file or a directory with flags of the system. Special files are refused without opening
/// them, since that may have an effect.
pub(crate) fn open_in_store(node: &Place, flags: OFlags) -> Result<(OwnedFd, Statx)> {
    let place = node.as_place()?;
    let status = status_of(&place)?;
    match FileType::from_raw_mode(status.stx_mode.into()) {
        FileType::RegularFile | FileType::Directory => {}
        // As for a link that is not to be followed.
        FileType::Symlink => return Err(Errno::LOOP),
        _ => return Err(Errno::NXIO),
    }
    let flags = flags - OFlags::NOFOLLOW;
    let file = open(path_of(&place), flags, Mode::empty()).map_err(errno)?;
    let status = match flags.contains(OFlags::TRUNC) {
        true => status_of(&file)?,
        false => status,
    };
    Ok((file, status))
}

impl Drop for Open {
    /// Count the file as closed.
    fn drop(&mut self) {
        self.shared.open_files.fetch_sub(1, Ordering::Relaxed);
        if let Some(cached) = &self.cached {
            cached.cache.close(&cached.file);
        }
    }
}

impl Open {
    /// Carry out what a deferred request asks for, and call `answer` with the result. This may take as long
    /// as the store takes.
    pub fn carry_out(&self, job: Job, is_flushed: &AtomicBool, answer: impl FnOnce(Result<Done>)) {
        let done = match (&self.cached, job) {
            (Some(Cached { cache, file, .. }), Job::Read { offset, count }) => {
                return cache.fetch(file, offset, count, |bytes| {
                    if let Ok(bytes) = &bytes {
                        self.count_read(bytes.len());
                    }
                    answer(bytes.map(Done::Read));
                });
            }
            (Some(cached), Job::Write { offset, data }) => {
                let Cached { cache, file, .. } = cached;
                let offset = cached.offset(offset);
                let written = cache.write_later(file, offset, &data, is_flushed);
                let written = written.inspect(|count| self.count_written(*count));
                let stored = written.and_then(|count| {
                    if file.is_nameless() {
                        cache.store(file)?;
                    } else if cached.stores_each_write() {
                        cache.sync(file)?;
                    }
                    Ok(count)
                });
                stored.map(Done::Written)
            }
            (Some(cached), Job::Sync(level)) => {
                let Cached { cache, file, .. } = cached;
                let synced = match level {
                    SyncLevel::Data | SyncLevel::All => cache.sync(file),
                    SyncLevel::Cached => cache.sync_in_cache(file),
                    SyncLevel::Stored => cache.store(file),
                };
                cached.check_abandoned().and(synced).map(|()| Done::Synced)
            }
            (Some(cached), Job::Close) => {
                let stored = cached.cache.store(&cached.file);
                cached.check_abandoned().and(stored).map(|()| Done::Closed)
            }
            (None, Job::Sync(SyncLevel::Data)) => {
                fdatasync(&*self.file).map_err(errno).map(|()| Done::Synced)
            }
            (None, Job::Sync(_)) => fsync(&*self.file).map_err(errno).map(|()| Done::Synced),
            // Without a cache, the other requests are carried out at once.
            (None, _) => Err(Errno::INVAL),
        };
        answer(done);
    }

    /// Count bytes that the client has read.
    pub fn count_read(&self, bytes: usize) {
        let read = &self.shared.counters.read;
        read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Count bytes that the client has written.
    pub fn count_written(&self, bytes: usize) {
        let written = &self.shared.counters.written;
        written.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}
