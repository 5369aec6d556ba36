//! The consumer's side of a ring, without the system: what it may read, and whom to wake.

use crate::words::{
    AWAKE, Corrupt, FURTHEST, Memory, Ordering, Word, awake, must_wake, sleeps, split, within,
};

/// Reads from a ring. Nothing here waits; whoever drives it does.
#[derive(Debug)]
pub struct Reader<M> {
    memory: M,
    /// Bytes given back to the writer.
    head: u64,
    /// Bytes read: those between the two are held.
    cursor: u64,
    /// As last seen.
    tail: u64,
    /// Whether the tail is the last.
    ended: bool,
}

impl<M: Memory> Reader<M> {
    /// The reader of a ring as it is, which may have data in it.
    ///
    /// # Errors
    /// The head is beyond [`FURTHEST`], or the tail not within the capacity
    /// above it.
    pub fn new(memory: M) -> Result<Self, Corrupt> {
        let head = within(&memory, Word::Head, 0, FURTHEST)?;
        let mut reader = Self {
            memory,
            head,
            cursor: head,
            tail: head,
            ended: false,
        };
        reader.look()?;
        reader.awake();
        Ok(reader)
    }

    /// Bytes of the ring.
    pub fn capacity(&self) -> u64 {
        self.memory.capacity()
    }

    /// Bytes given back so far.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Bytes read so far.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Bytes that were read and not given back.
    pub fn held(&self) -> u64 {
        self.cursor - self.head
    }

    /// The memory.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// Bytes written so far, as last seen.
    pub fn tail(&self) -> u64 {
        self.tail
    }

    /// Bytes that can be read without looking again.
    pub fn seen(&self) -> u64 {
        self.tail - self.cursor
    }

    /// Whether the writer had closed when this side last looked: what was seen then is all that
    /// will ever be there.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Looks where the writer is.
    ///
    /// # Returns
    /// The bytes that can be read.
    ///
    /// # Errors
    /// The writer says that it wrote more than there was room for, or went back.
    pub fn look(&mut self) -> Result<u64, Corrupt> {
        // The flag first: a tail that is loaded after it was seen set is the last.
        let ended = self.memory.word(Word::WriterClosed).load(Ordering::Acquire) != 0;
        let most = self.head + self.capacity();
        self.tail = within(&self.memory, Word::Tail, self.tail, most)?;
        self.ended = ended;
        Ok(self.seen())
    }

    /// Copies what is `at` bytes behind what was read into `bytes`.
    ///
    /// # Returns
    /// The bytes copied: those that were seen.
    pub fn get(&self, at: usize, bytes: &mut [u8]) -> usize {
        let there = usize::try_from(self.seen()).unwrap_or(usize::MAX);
        let len = bytes.len().min(there.saturating_sub(at));
        let position = self.cursor + at as u64;
        let (start, first) = split(self.capacity(), position, len);
        self.memory.copy_out(start, &mut bytes[..first]);
        if first < len {
            self.memory.copy_out(0, &mut bytes[first..len]);
        }
        len
    }

    /// The place of the next bytes: the memory, where they begin in it, and how many lie there in
    /// one piece, at most `most`.
    pub fn place(&self, most: usize) -> (&M, usize, usize) {
        let there = usize::try_from(self.seen()).unwrap_or(usize::MAX);
        let (start, len) = split(self.capacity(), self.cursor, most.min(there));
        (&self.memory, start, len)
    }

    /// Reads the next `len` bytes, at most those that were seen, and gives them back to the writer
    /// with all that is held.
    ///
    /// # Returns
    /// Whether the writer must be woken.
    #[must_use]
    pub fn release(&mut self, len: usize) -> bool {
        self.hold(len);
        self.give_back(self.held())
    }

    /// Reads the next `len` bytes, at most those that were seen. They stay what they are until they
    /// are given back.
    pub fn hold(&mut self, len: usize) {
        self.cursor += (len as u64).min(self.seen());
    }

    /// Gives the first `len` bytes that are held back to the writer.
    ///
    /// # Returns
    /// Whether the writer must be woken.
    #[must_use]
    pub fn give_back(&mut self, len: u64) -> bool {
        self.head += len.min(self.held());
        let word = self.memory.word(Word::Head);
        word.store(self.head, Ordering::Release);
        must_wake(self.memory.word(Word::WriterWants), self.head)
    }

    /// Says that this side sleeps until there are `len` bytes to read, at most what fits beside
    /// those that are held.
    ///
    /// # Returns
    /// Whether it may sleep. If not they are there, or the writer has closed.
    ///
    /// # Errors
    /// As [`Reader::look`].
    pub fn sleep(&mut self, len: u64) -> Result<bool, Corrupt> {
        let len = len.min(self.capacity() - self.held());
        let wants = self.memory.word(Word::ReaderWants);
        sleeps(wants, self.cursor + len);
        let may = self.look()? < len && !self.ended;
        if !may {
            self.awake();
        }
        Ok(may)
    }

    /// Whether the writer sleeps until there is more room.
    pub fn writer_sleeps(&self) -> bool {
        self.memory.word(Word::WriterWants).load(Ordering::Relaxed) != AWAKE
    }

    /// Says that this side does not sleep any more.
    pub fn awake(&self) {
        awake(self.memory.word(Word::ReaderWants));
    }

    /// Says that no more will be read.
    ///
    /// # Returns
    /// Whether the writer must be woken.
    #[must_use]
    pub fn close(&mut self) -> bool {
        let word = self.memory.word(Word::ReaderClosed);
        word.store(1, Ordering::Release);
        // Whatever it waits for.
        must_wake(self.memory.word(Word::WriterWants), AWAKE - 1)
    }
}
