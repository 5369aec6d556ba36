//! Bytes of messages that wait to be sent.

use std::ops::{Index, IndexMut, Range};

/// Bytes of messages that wait to be sent. Its memory is written once and used again, so that data
/// can be read into it without clearing it first.
#[derive(Debug, Default)]
pub struct Buffer {
    memory: Vec<u8>,
    /// The end of the bytes in `memory`.
    len: usize,
    /// The number of bytes that were sent, from the beginning of `memory`.
    sent: usize,
}

impl Buffer {
    /// Create an empty buffer without memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Return all bytes, sent or not.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// Return the bytes that were not sent.
    #[must_use]
    pub fn unsent(&self) -> &[u8] {
        &self.memory[self.sent..self.len]
    }

    /// Record that the first `count` bytes of [`Buffer::unsent`] were sent. Once all are sent, the
    /// buffer is empty.
    ///
    /// # Panics
    /// `count` is more than these.
    pub fn mark_sent(&mut self, count: usize) {
        assert!(count <= self.len - self.sent);
        self.sent += count;
        if self.sent == self.len {
            self.clear();
        }
    }

    /// Return the number of bytes, sent or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Return whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Append bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.memory.get_mut(self.len..end) {
            Some(space) => space.copy_from_slice(bytes),
            None => {
                // New memory is written once.
                self.memory.truncate(self.len);
                self.memory.extend_from_slice(bytes);
            }
        }
        self.len = end;
    }

    /// Return the place for the next `count` bytes, whose content is arbitrary. The caller writes to
    /// its beginning and calls [`Buffer::advance`].
    pub fn space(&mut self, count: usize) -> &mut [u8] {
        let end = self.len + count;
        if end > self.memory.len() {
            self.memory.resize(end.max(2 * self.len), 0);
        }
        &mut self.memory[self.len..end]
    }

    /// Append the first `count` bytes of [`Buffer::space`].
    ///
    /// # Panics
    /// `count` is more than the space.
    pub fn advance(&mut self, count: usize) {
        assert!(count <= self.memory.len() - self.len);
        self.len += count;
    }

    /// Remove the bytes from position `len` on.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Remove all bytes, and keep the memory.
    pub fn clear(&mut self) {
        (self.len, self.sent) = (0, 0);
    }

    /// Free the memory, if the buffer is empty.
    pub fn shrink(&mut self) {
        if self.is_empty() {
            self.memory = Vec::new();
        }
    }
}

impl Index<Range<usize>> for Buffer {
    type Output = [u8];

    /// Return some of the bytes.
    fn index(&self, range: Range<usize>) -> &[u8] {
        &self.bytes()[range]
    }
}

impl IndexMut<Range<usize>> for Buffer {
    /// Return some of the bytes, to change them.
    fn index_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self.memory[..self.len][range]
    }
}
