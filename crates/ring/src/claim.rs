//! Claims: bytes of a ring that stay in the ring while a caller uses them.

use crate::error::{Error, refused};
use crate::mapping::Mapping;
use crate::words::{Memory, split};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vm_memory::WriteVolatile;

/// The pieces of a ring whose claims were dropped: for each first position in the ring, the length
/// in bytes. The consumer removes the pieces and releases their bytes to the producer.
#[derive(Debug, Default)]
pub(crate) struct DroppedClaims(Mutex<BTreeMap<u64, u64>>);

impl DroppedClaims {
    /// Locks the list of pieces whose claims were dropped, and returns it.
    fn dropped(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        // Ignore poisoning: no thread can panic while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the claim on a piece of the ring was dropped: `len` bytes from `position` on.
    pub(crate) fn put(&self, position: u64, len: u64) {
        if len > 0 {
            self.dropped().insert(position, len);
        }
    }

    /// Removes the recorded pieces that follow each other without a gap from `position` on. Returns
    /// their total length in bytes.
    pub(crate) fn take(&self, position: u64) -> u64 {
        let mut dropped = self.dropped();
        let mut len = 0;
        while let Some(next) = dropped.remove(&(position + len)) {
            len += next;
        }
        len
    }
}

/// A claim on bytes of a ring: the producer cannot overwrite them before the claim is dropped and
/// the consumer is used once more. A claim may outlive the consumer and the producer's process.
///
/// A misbehaving producer may still change the bytes, so two reads may differ.
#[derive(Debug)]
pub struct Claim {
    memory: Arc<Mapping>,
    back: Arc<DroppedClaims>,
    position: u64,
    len: usize,
}

impl Claim {
    /// Creates a claim on `len` bytes of a ring from `position` on.
    pub(crate) fn new(
        memory: Arc<Mapping>,
        back: Arc<DroppedClaims>,
        position: u64,
        len: usize,
    ) -> Self {
        Self {
            memory,
            back,
            position,
            len,
        }
    }

    /// Returns the number of claimed bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the claim is on no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Splits the claim in two. The result has the bytes from byte `at`, and is dropped separately.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        let at = at.min(self.len);
        let rest = Self {
            memory: Arc::clone(&self.memory),
            back: Arc::clone(&self.back),
            position: self.position + at as u64,
            len: self.len - at,
        };
        self.len = at;
        rest
    }

    /// Appends another claim, whose bytes must directly follow those of this claim in the same
    /// ring.
    ///
    /// # Errors
    /// Returns the other claim if it does not follow directly.
    pub fn join(&mut self, mut next: Self) -> Result<(), Self> {
        let behind = self.position + self.len as u64;
        if !Arc::ptr_eq(&self.back, &next.back) || next.position != behind {
            return Err(next);
        }
        // The other claim is now empty, so its drop releases nothing.
        self.len += std::mem::take(&mut next.len);
        Ok(())
    }

    /// Copies claimed bytes, from byte `at` of the claim, into `bytes`.
    ///
    /// # Returns
    /// The number of copied bytes, which is smaller than `bytes` at the end of the claim.
    pub fn get(&self, at: usize, bytes: &mut [u8]) -> usize {
        let len = bytes.len().min(self.len.saturating_sub(at));
        let mut done = 0;
        while done < len {
            let (memory, offset, piece) = self.locate(at + done, len - done);
            memory.copy_out(offset, &mut bytes[done..done + piece]);
            done += piece;
        }
        len
    }

    /// Writes claimed bytes once to a file or socket, straight from the ring: from byte `from`, as
    /// many as are contiguous in memory. The call blocks as long as the file does, without limit. A
    /// socket whose peer is gone returns `EPIPE`, and raises a signal unless the process ignores
    /// it, as Rust and Python programs do.
    ///
    /// # Returns
    /// The number of bytes written.
    ///
    /// # Errors
    /// [`Error::System`] with the error of the file, for example that it would block.
    pub fn write_to(&self, file: impl AsFd, from: usize) -> Result<usize, Error> {
        let (memory, at, len) = self.locate(from, self.len);
        if len == 0 {
            return Ok(0);
        }
        let written = file.as_fd().write_volatile(&memory.bytes(at, len));
        written.map_err(|error| refused("writing from a ring", error))
    }

    /// Returns the location of the claimed bytes from `from`: the memory, their offset in it, and
    /// the number of contiguous bytes there, at most `most`.
    fn locate(&self, from: usize, most: usize) -> (&Arc<Mapping>, usize, usize) {
        let len = most.min(self.len.saturating_sub(from));
        let position = self.position + from as u64;
        let (at, len) = split(self.memory.capacity(), position, len);
        (&self.memory, at, len)
    }
}

impl Drop for Claim {
    /// Releases the claimed bytes.
    fn drop(&mut self) {
        self.back.put(self.position, self.len as u64);
    }
}
