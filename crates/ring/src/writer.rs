//! The producer's side of a ring, without the system: what it may write, and whom to wake.

use crate::words::{
    AWAKE, Corrupt, FURTHEST, Memory, Ordering, Word, awake, must_wake, sleeps, split, within,
};

/// Writes to a ring. Nothing here waits; whoever drives it does.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    tail: u64,
    /// As last seen.
    head: u64,
}

impl<M: Memory> Writer<M> {
    /// The writer of a ring as it is, which may have data in it.
    ///
    /// # Errors
    /// The tail is beyond [`FURTHEST`], or the head not within the capacity
    /// below it.
    pub fn new(memory: M) -> Result<Self, Corrupt> {
        let tail = within(&memory, Word::Tail, 0, FURTHEST)?;
        let head = tail.saturating_sub(memory.capacity());
        let mut writer = Self { memory, tail, head };
        writer.look()?;
        writer.awake();
        Ok(writer)
    }

    /// Bytes of the ring.
    pub fn capacity(&self) -> u64 {
        self.memory.capacity()
    }

    /// Bytes written so far.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Bytes read so far, as last seen.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Bytes that can be written without looking again.
    pub fn seen(&self) -> u64 {
        self.capacity() - (self.tail - self.head)
    }

    /// Looks where the reader is.
    ///
    /// # Returns
    /// The bytes that can be written.
    ///
    /// # Errors
    /// The reader says that it read what was not written, or went back.
    pub fn look(&mut self) -> Result<u64, Corrupt> {
        self.head = within(&self.memory, Word::Head, self.head, self.tail)?;
        Ok(self.seen())
    }

    /// Whether the reader has closed.
    pub fn reader_closed(&self) -> bool {
        self.memory.word(Word::ReaderClosed).load(Ordering::Acquire) != 0
    }

    /// Copies `bytes` to `at` bytes behind what was published. Nobody sees them before they are
    /// published.
    ///
    /// # Returns
    /// The bytes copied: those for which room was seen.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> usize {
        let room = usize::try_from(self.seen()).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room.saturating_sub(at))];
        let position = self.tail + at as u64;
        let (start, first) = split(self.capacity(), position, bytes.len());
        self.memory.copy_in(start, &bytes[..first]);
        if first < bytes.len() {
            self.memory.copy_in(0, &bytes[first..]);
        }
        bytes.len()
    }

    /// The place of the next bytes: the memory, where they begin in it, and how many lie there in
    /// one piece, at most `most`.
    pub fn place(&self, most: usize) -> (&M, usize, usize) {
        let room = usize::try_from(self.seen()).unwrap_or(usize::MAX);
        let (start, len) = split(self.capacity(), self.tail, most.min(room));
        (&self.memory, start, len)
    }

    /// Gives the next `len` bytes to the reader, at most those for which room was seen.
    ///
    /// # Returns
    /// Whether the reader must be woken.
    #[must_use]
    pub fn publish(&mut self, len: usize) -> bool {
        self.tail += (len as u64).min(self.seen());
        let word = self.memory.word(Word::Tail);
        word.store(self.tail, Ordering::Release);
        must_wake(self.memory.word(Word::ReaderWants), self.tail)
    }

    /// Says that this side sleeps until there is room for `room` bytes, at most the capacity.
    ///
    /// # Returns
    /// Whether it may sleep. If not there is room, or the reader has closed.
    ///
    /// # Errors
    /// As [`Writer::look`].
    pub fn sleep(&mut self, room: u64) -> Result<bool, Corrupt> {
        let room = room.min(self.capacity());
        let until = (self.tail + room).saturating_sub(self.capacity());
        sleeps(self.memory.word(Word::WriterWants), until);
        let may = !self.reader_closed() && self.look()? < room;
        if !may {
            self.awake();
        }
        Ok(may)
    }

    /// Says that this side does not sleep any more.
    pub fn awake(&self) {
        awake(self.memory.word(Word::WriterWants));
    }

    /// Says that no more will be written.
    ///
    /// # Returns
    /// Whether the reader must be woken.
    #[must_use]
    pub fn close(&mut self) -> bool {
        let word = self.memory.word(Word::WriterClosed);
        word.store(1, Ordering::Release);
        // Whatever it waits for.
        must_wake(self.memory.word(Word::ReaderWants), AWAKE - 1)
    }
}
