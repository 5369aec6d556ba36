//! The consumer's side of a ring, without system calls: the bytes that it may read, and the moments
//! at which it must wake the writer.

use crate::words::{
    AWAKE, Corrupt, FURTHEST, Memory, Ordering, Word, awake, must_wake, sleeps, split, within,
};

/// The reading side of a ring, without system calls. None of its calls waits; the caller does.
#[derive(Debug)]
pub struct Reader<M> {
    memory: M,
    /// Total number of bytes that were released to the writer.
    head: u64,
    /// Total number of bytes that were read. Bytes between `head` and `cursor` are not released
    /// yet.
    cursor: u64,
    /// The total number of bytes written, as of the last check.
    tail: u64,
    /// Whether the writer had closed at the last check, so that `tail` is final.
    ended: bool,
}

impl<M: Memory> Reader<M> {
    /// Creates the reader of an existing ring, which may contain data.
    ///
    /// # Errors
    /// The head is beyond [`FURTHEST`], or the tail is not within the capacity above it.
    pub fn new(memory: M) -> Result<Self, Corrupt> {
        let head = within(&memory, Word::Head, 0, FURTHEST)?;
        let mut reader = Self {
            memory,
            head,
            cursor: head,
            tail: head,
            ended: false,
        };
        reader.refresh()?;
        reader.mark_awake();
        Ok(reader)
    }

    /// Returns the capacity of the ring in bytes.
    pub fn capacity(&self) -> u64 {
        self.memory.capacity()
    }

    /// Returns the total number of bytes that were released to the writer.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Returns the total number of bytes that were read.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Returns the number of bytes that were read and not released to the writer.
    pub fn held(&self) -> u64 {
        self.cursor - self.head
    }

    /// Returns the memory of the ring.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Returns the total number of bytes written, as of the last check.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Returns the number of bytes that can be read without another check of the writer's position.
    pub fn available(&self) -> u64 {
        self.tail - self.cursor
    }

    /// Returns whether the writer had closed at the last check, so that no more bytes will come.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Checks the position of the writer again.
    ///
    /// # Returns
    /// The number of readable bytes.
    ///
    /// # Errors
    /// The writer's position exceeds the room that it had, or went back.
    pub fn refresh(&mut self) -> Result<u64, Corrupt> {
        // Load the flag before the tail: once the writer has set the flag, the tail no longer
        // changes.
        let ended = self.memory.word(Word::WriterClosed).load(Ordering::Acquire) != 0;
        let most = self.head + self.capacity();
        self.tail = within(&self.memory, Word::Tail, self.tail, most)?;
        self.ended = ended;
        Ok(self.available())
    }

    /// Copies bytes from the ring into `bytes`, starting `at` bytes after the read position.
    ///
    /// # Returns
    /// The number of copied bytes, which is limited by the bytes that the last check found.
    pub fn get(&self, at: usize, bytes: &mut [u8]) -> usize {
        let there = usize::try_from(self.available()).unwrap_or(usize::MAX);
        let len = bytes.len().min(there.saturating_sub(at));
        let position = self.cursor + at as u64;
        let (start, first) = split(self.capacity(), position, len);
        self.memory.copy_out(start, &mut bytes[..first]);
        if first < len {
            self.memory.copy_out(0, &mut bytes[first..len]);
        }
        len
    }

    /// Reads the next `len` bytes, at most those of the last check, and releases them and all held
    /// bytes to the writer.
    ///
    /// # Returns
    /// Whether the writer must be woken.
    #[must_use]
    pub fn release(&mut self, len: usize) -> bool {
        self.hold(len);
        self.release_held(self.held())
    }

    /// Consumes the next `len` bytes, at most those that the last check found, and holds them: the
    /// writer cannot overwrite them before they are released.
    pub fn hold(&mut self, len: usize) {
        self.cursor += (len as u64).min(self.available());
    }

    /// Releases the first `len` held bytes to the writer.
    ///
    /// # Returns
    /// Whether the writer must be woken.
    #[must_use]
    pub fn release_held(&mut self, len: u64) -> bool {
        self.head += len.min(self.held());
        let word = self.memory.word(Word::Head);
        word.store(self.head, Ordering::Release);
        must_wake(self.memory.word(Word::WriterWants), self.head)
    }

    /// Announces that this side sleeps until `len` bytes can be read, at most the number that fits
    /// beside the held bytes.
    ///
    /// # Returns
    /// Whether this side may sleep. If not, the bytes have come, or the writer has closed.
    ///
    /// # Errors
    /// As [`Reader::refresh`].
    pub fn sleep(&mut self, len: u64) -> Result<bool, Corrupt> {
        let len = len.min(self.capacity() - self.held());
        let wants = self.memory.word(Word::ReaderWants);
        sleeps(wants, self.cursor + len);
        let may = self.refresh()? < len && !self.ended;
        if !may {
            self.mark_awake();
        }
        Ok(may)
    }

    /// Returns whether the writer sleeps until there is more room in the ring.
    pub fn writer_sleeps(&self) -> bool {
        self.memory.word(Word::WriterWants).load(Ordering::Relaxed) != AWAKE
    }

    /// Announces to the writer that this side no longer sleeps.
    pub fn mark_awake(&self) {
        awake(self.memory.word(Word::ReaderWants));
    }

    /// Closes the reading side.
    ///
    /// # Returns
    /// Whether the writer must be woken.
    #[must_use]
    pub fn close(&mut self) -> bool {
        let word = self.memory.word(Word::ReaderClosed);
        word.store(1, Ordering::Release);
        // A close wakes the writer, whatever position the writer waits for.
        must_wake(self.memory.word(Word::WriterWants), AWAKE - 1)
    }
}
