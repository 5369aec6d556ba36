//! The producer's side of a ring, without system calls: the room that it may fill, and the moments
//! at which it must wake the reader.

use crate::words::{
    AWAKE, Corrupt, FURTHEST, Memory, Ordering, Word, awake, must_wake, sleeps, split, within,
};

/// The writing side of a ring, without system calls. Its functions return at once if the ring is
/// full; the caller must wait for room.
#[derive(Debug)]
pub struct Writer<M> {
    memory: M,
    tail: u64,
    /// The total number of bytes read, as of the last check.
    head: u64,
}

impl<M: Memory> Writer<M> {
    /// Creates the writer of an existing ring, which may contain data.
    ///
    /// # Errors
    /// The tail is beyond [`FURTHEST`], or the head is not within the capacity below it.
    pub fn new(memory: M) -> Result<Self, Corrupt> {
        let tail = within(&memory, Word::Tail, 0, FURTHEST)?;
        let head = tail.saturating_sub(memory.capacity());
        let mut writer = Self { memory, tail, head };
        writer.refresh()?;
        writer.mark_awake();
        Ok(writer)
    }

    /// Returns the capacity of the ring in bytes.
    pub fn capacity(&self) -> u64 {
        self.memory.capacity()
    }

    /// Returns the total number of bytes written to the ring.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Returns the total number of bytes read from the ring, as of the last check.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Returns the number of bytes that can be written without another check of the reader's
    /// position.
    pub fn room(&self) -> u64 {
        self.capacity() - (self.tail - self.head)
    }

    /// Checks the position of the reader again.
    ///
    /// # Returns
    /// The number of bytes that can be written now.
    ///
    /// # Errors
    /// The reader's position is beyond the written bytes, or went back.
    pub fn refresh(&mut self) -> Result<u64, Corrupt> {
        self.head = within(&self.memory, Word::Head, self.head, self.tail)?;
        Ok(self.room())
    }

    /// Returns whether the reader has closed.
    pub fn reader_closed(&self) -> bool {
        self.memory.word(Word::ReaderClosed).load(Ordering::Acquire) != 0
    }

    /// Copies `bytes` to the ring, starting `at` bytes after the published ones. The reader cannot
    /// read them before they are published.
    ///
    /// # Returns
    /// The number of copied bytes. It is less than the length of `bytes` if the ring had less free
    /// room when the position of the reader was last checked.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> usize {
        let room = usize::try_from(self.room()).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room.saturating_sub(at))];
        let position = self.tail + at as u64;
        let (start, first) = split(self.capacity(), position, bytes.len());
        self.memory.copy_in(start, &bytes[..first]);
        if first < bytes.len() {
            self.memory.copy_in(0, &bytes[first..]);
        }
        bytes.len()
    }

    /// Publishes the next `len` bytes to the reader, at most the room of the last check.
    ///
    /// # Returns
    /// Whether the reader must be woken.
    #[must_use]
    pub fn publish(&mut self, len: usize) -> bool {
        self.tail += (len as u64).min(self.room());
        let word = self.memory.word(Word::Tail);
        word.store(self.tail, Ordering::Release);
        must_wake(self.memory.word(Word::ReaderWants), self.tail)
    }

    /// Announces that this side sleeps until there is room for `room` bytes, at most the capacity.
    ///
    /// # Returns
    /// Whether this side may sleep. If not, there is room, or the reader has closed.
    ///
    /// # Errors
    /// As [`Writer::refresh`].
    pub fn sleep(&mut self, room: u64) -> Result<bool, Corrupt> {
        let room = room.min(self.capacity());
        let until = (self.tail + room).saturating_sub(self.capacity());
        sleeps(self.memory.word(Word::WriterWants), until);
        let may = !self.reader_closed() && self.refresh()? < room;
        if !may {
            self.mark_awake();
        }
        Ok(may)
    }

    /// Announces to the reader that this side no longer sleeps.
    pub fn mark_awake(&self) {
        awake(self.memory.word(Word::WriterWants));
    }

    /// Closes the writing side.
    ///
    /// # Returns
    /// Whether the reader must be woken.
    #[must_use]
    pub fn close(&mut self) -> bool {
        let word = self.memory.word(Word::WriterClosed);
        word.store(1, Ordering::Release);
        // A close wakes the reader, whatever position the reader waits for.
        must_wake(self.memory.word(Word::ReaderWants), AWAKE - 1)
    }
}
