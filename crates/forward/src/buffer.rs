//! Bytes of messages that wait to be sent.

use std::ops::{Index, IndexMut, Range};

/// Bytes of messages that wait to be sent. Its memory is written once and used again, so that data
/// can be read into it without clearing it first.
#[derive(Debug, Default)]
pub struct Buffer {
    memory: Vec<u8>,
    /// The number of bytes that wait, from the beginning of `memory`.
    len: usize,
}

impl Buffer {
    /// Create an empty buffer without memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Return the bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.memory[..self.len]
    }

    /// Return the number of bytes that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Return whether no bytes wait.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Append bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.space(bytes.len()).copy_from_slice(bytes);
        self.len += bytes.len();
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
        self.len = 0;
    }

    /// Free the memory, if no bytes wait.
    pub fn shrink(&mut self) {
        if self.is_empty() {
            self.memory = Vec::new();
        }
    }
}

impl Index<Range<usize>> for Buffer {
    type Output = [u8];

    /// Return some of the bytes that wait.
    fn index(&self, range: Range<usize>) -> &[u8] {
        &self.bytes()[range]
    }
}

impl IndexMut<Range<usize>> for Buffer {
    /// Return some of the bytes that wait, to change them.
    fn index_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self.memory[..self.len][range]
    }
}
