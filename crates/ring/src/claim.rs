//! Bytes of a ring that stay where they are while something is done with them.

use crate::error::{Error, refused};
use crate::mapping::Mapping;
use crate::words::{Memory, split};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vm_memory::WriteVolatile;

/// Stretches that are claimed no more, by their first position: their lengths.
#[derive(Debug, Default)]
pub(crate) struct Back(Mutex<BTreeMap<u64, u64>>);

impl Back {
    fn stretches(&self) -> MutexGuard<'_, BTreeMap<u64, u64>> {
        // Nothing that holds it can panic in between.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn put(&self, position: u64, len: u64) {
        if len > 0 {
            self.stretches().insert(position, len);
        }
    }

    /// Takes the stretches that follow each other from `position` on; how long they are.
    pub(crate) fn take(&self, position: u64) -> u64 {
        let mut stretches = self.stretches();
        let mut len = 0;
        while let Some(next) = stretches.remove(&(position + len)) {
            len += next;
        }
        len
    }
}

/// Bytes of a ring that the producer does not write anew before this is dropped and the consumer
/// used again. It outlives the consumer, and the producer's process.
///
/// A producer that breaks the rules may change them meanwhile: what is read twice may differ.
#[derive(Debug)]
pub struct Claim {
    memory: Arc<Mapping>,
    back: Arc<Back>,
    position: u64,
    len: usize,
}

impl Claim {
    pub(crate) fn new(memory: Arc<Mapping>, back: Arc<Back>, position: u64, len: usize) -> Self {
        Self {
            memory,
            back,
            position,
            len,
        }
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Cuts it in two: what is from byte `at` on is another's then, dropped by itself.
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

    /// Adds what follows right behind it in the same ring.
    ///
    /// # Errors
    /// Gives back what does not.
    pub fn join(&mut self, mut next: Self) -> Result<(), Self> {
        let behind = self.position + self.len as u64;
        if !Arc::ptr_eq(&self.back, &next.back) || next.position != behind {
            return Err(next);
        }
        // What is dropped now is nothing.
        self.len += std::mem::take(&mut next.len);
        Ok(())
    }

    /// Copies from byte `at` on into `bytes`.
    ///
    /// # Returns
    /// The bytes copied: there is nothing beyond the claim.
    pub fn get(&self, at: usize, bytes: &mut [u8]) -> usize {
        let len = bytes.len().min(self.len.saturating_sub(at));
        let mut done = 0;
        while done < len {
            let (memory, place, piece) = self.place(at + done, len - done);
            memory.copy_out(place, &mut bytes[done..done + piece]);
            done += piece;
        }
        len
    }

    /// Writes once to a file or socket, from byte `from` on what lies in one piece: from the ring
    /// itself, with no copy in between. It waits as long as the file does: one that blocks, for
    /// ever. A socket whose peer is gone gives `EPIPE`, and a signal where the process has not
    /// switched it off, as programs of Rust and Python have.
    ///
    /// # Returns
    /// The bytes that it took.
    ///
    /// # Errors
    /// [`Error::System`] with what the file says, such as that it would block.
    pub fn write_to(&self, file: impl AsFd, from: usize) -> Result<usize, Error> {
        let (memory, at, len) = self.place(from, self.len);
        if len == 0 {
            return Ok(0);
        }
        let written = file.as_fd().write_volatile(&memory.bytes(at, len));
        written.map_err(|error| refused("writing from a ring", error))
    }

    /// The place of the bytes from `from` on: the memory, where they begin in it, how many lie
    /// there in one piece, at most `most`.
    fn place(&self, from: usize, most: usize) -> (&Arc<Mapping>, usize, usize) {
        let len = most.min(self.len.saturating_sub(from));
        let position = self.position + from as u64;
        let (at, len) = split(self.memory.capacity(), position, len);
        (&self.memory, at, len)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.back.put(self.position, self.len as u64);
    }
}
