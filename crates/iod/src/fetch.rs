//! Reads of whole files by their paths, which may take as long as the store takes.

use crate::export::{Export, Place};
use crate::open::{Cached, Open};
use crate::shared::Shared;
use crate::status::{errno, open_flags, status_of};
use isthmus_forward::message::{Attributes, Qid};
use isthmus_forward::{Errno, Opened, Result};
use rustix::io::pread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of bytes that are read into the cache at a time.
const WINDOW_BYTES: usize = 16 << 20;

/// Open an ordinary file at a path from a directory for reading, and return its path from the root of the export.
fn open(shared: &Arc<Shared>, directory: &Place, path: &[u8]) -> Result<(Open, Vec<u8>, Place)> {
    let place = match path {
        b"" => directory.clone(),
        path => Export::place(&directory.export, &directory.path_of(path)?),
    };
    let whole = place.path()?;
    let Opened { open, qid } = Open::at(shared, &place, open_flags(0))?;
    match qid.kind {
        Qid::DIRECTORY => Err(Errno::ISDIR),
        _ => Ok((open, whole, place)),
    }
}

/// Return the attributes of an open file as its clients see them.
fn attributes_of(open: &Open, place: &Place) -> Result<Attributes> {
    let mut status = status_of(&*open.file)?;
    if let Some(cached) = &open.cached
        && !cached.cache.correct(&cached.file, &mut status)
    {
        // It may have been stored since.
        status = status_of(&*open.file)?;
        cached.cache.correct(&cached.file, &mut status);
    }
    Ok(place.export.attributes(status))
}

impl Shared {
    /// Open a file at a path from a directory and return the result of `read`, which gets the size, with its attributes.
    fn with_file<T>(
        self: &Arc<Self>,
        directory: &Place,
        path: &[u8],
        read: impl FnOnce(&Open, u64) -> Result<T>,
    ) -> Result<(Attributes, T)> {
        let cache = self.cache.as_ref();
        let generation = cache.map(|cache| cache.path_generation());
        let (open, whole, place) = open(self, directory, path)?;
        let changes = open.cached.as_ref().map(|cached| cached.file.changes());
        // Before the data: a client that keeps it must not take it for a later version.
        let attributes = attributes_of(&open, &place)?;
        let result = read(&open, attributes.size)?;
        if let (Some(cached), Some(changes), Some(generation)) = (&open.cached, changes, generation)
        {
            let Cached { cache, file, .. } = cached;
            cache.record_path(
                &place.export,
                whole,
                (file, changes),
                generation,
                attributes,
            );
        }
        Ok((attributes, result))
    }

    /// Read a file at a path from a directory from its start, without a cache.
    pub fn read_stored(
        self: &Arc<Self>,
        directory: &Place,
        path: &[u8],
        bytes: &mut [u8],
    ) -> Result<(Attributes, usize)> {
        self.with_file(directory, path, |open, _| {
            let count = pread(&*open.file, bytes, 0).map_err(errno)?;
            open.count_read(count);
            Ok(count)
        })
    }

    /// Read a file at a path from a directory from its start, at most `count` bytes.
    pub fn fetch(
        self: &Arc<Self>,
        directory: &Place,
        path: &[u8],
        count: usize,
    ) -> Result<(Attributes, Vec<u8>)> {
        self.with_file(directory, path, |open, size| {
            let Cached { cache, file, .. } = open.cached.as_ref().ok_or(Errno::INVAL)?;
            let count = count.min(usize::try_from(size).unwrap_or(usize::MAX));
            let mut bytes = Err(Errno::IO);
            cache.fetch(file, 0, count, |read| bytes = read);
            bytes.inspect(|bytes| open.count_read(bytes.len()))
        })
    }

    /// Read a file at a path from a directory into the cache, at most `most` bytes of it and a quarter of the cache, until
    /// `is_flushed`.
    pub fn prefetch(
        self: &Arc<Self>,
        directory: &Place,
        path: &[u8],
        most: u64,
        is_flushed: &AtomicBool,
    ) -> Result<()> {
        if let (Some(cache), Ok(whole)) = (&self.cache, directory.path_of(path))
            && cache.has_path(&directory.export, &whole)
        {
            return Ok(());
        }
        let prefetched = self.with_file(directory, path, |open, size| {
            let Cached { cache, file, .. } = open.cached.as_ref().ok_or(Errno::OPNOTSUPP)?;
            let end = size.min(most).min(cache.settings().bytes / 4);
            for start in (0..end).step_by(WINDOW_BYTES) {
                if is_flushed.load(Ordering::Relaxed) {
                    return Err(Errno::INTR);
                }
                cache.fill(file, start..end.min(start + WINDOW_BYTES as u64))?;
            }
            Ok(())
        });
        prefetched.map(|_| ())
    }

    /// Store all files, until `is_flushed`. Without a cache, have the system store what it has.
    pub fn drain(&self, is_flushed: &AtomicBool) -> Result<()> {
        match &self.cache {
            Some(cache) => cache.drain_all(is_flushed),
            None => self.exports.iter().try_for_each(|export| export.sync()),
        }
    }

    /// Drop the bytes of a file that are not stored, for a client. Return how many.
    pub fn abandon(
        &self,
        session: u32,
        (number, path): (u64, &[u8]),
        is_flushed: &AtomicBool,
    ) -> Result<u64> {
        let cache = self.cache.as_ref().ok_or(Errno::NOENT)?;
        let bytes = cache.abandon(number, path, is_flushed)?;
        let what = format!("abandon {:?}", String::from_utf8_lossy(path));
        let done = format!("{bytes} bytes that were not stored are dropped");
        self.gate.log().record(&format!("#{session}"), &what, &done);
        Ok(bytes)
    }
}
