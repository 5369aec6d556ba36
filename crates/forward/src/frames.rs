//! Whole messages out of a stream of bytes.

use crate::message::{HEADER, Malformed};

/// Number of bytes that are read at once, if no single message needs more: at first, and once as many have
/// arrived at once.
const FIRST_READ: usize = 4 << 10;
const READ: usize = 128 << 10;

/// The bytes of a stream, from the first message that has not been taken.
#[derive(Debug)]
pub struct Frames {
    bytes: Vec<u8>,
    /// The bytes that have arrived and were not taken: `start..end` of `bytes`.
    start: usize,
    end: usize,
    /// Maximum size of a message in bytes.
    limit: usize,
    /// The number of bytes that are read at once.
    read: usize,
}

impl Frames {
    /// Create an empty stream whose messages have at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            end: 0,
            limit,
            read: FIRST_READ,
        }
    }

    /// Change the maximum size of a message in bytes, for those that are taken from now on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Return the place for the next bytes of the stream, which is never empty. The caller writes to
    /// its beginning and calls [`Frames::filled`].
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let size = self.size().map_or(0, |size| size.min(self.limit));
        let wanted = size.max(self.read);
        if self.start + wanted > self.bytes.len() || self.end == self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let needed = wanted.max(self.end + 1);
            if self.bytes.len() < needed {
                self.bytes.resize(needed, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    /// Record that `count` bytes were written to the beginning of [`Frames::space`].
    ///
    /// # Panics
    /// `count` is more than the space.
    pub fn filled(&mut self, count: usize) {
        assert!(count <= self.bytes.len() - self.end);
        self.end += count;
        if self.end == self.bytes.len() {
            self.read = READ;
        }
    }

    /// Return the size that the next message gives, if that has arrived.
    fn size(&self) -> Option<usize> {
        let size = self.bytes[self.start..self.end].first_chunk()?;
        Some(u32::from_le_bytes(*size) as usize)
    }

    /// Return the size of the next message, if all of it has arrived.
    fn whole(&self) -> Result<Option<usize>, Malformed> {
        match self.size() {
            Some(size) if size < HEADER || size > self.limit => {
                Err(Malformed::Size(u32::try_from(size).unwrap_or(u32::MAX)))
            }
            Some(size) if size <= self.end - self.start => Ok(Some(size)),
            _ => Ok(None),
        }
    }

    /// Return whether a message can be taken.
    ///
    /// # Errors
    /// As [`Frames::take`].
    pub fn has_message(&self) -> Result<bool, Malformed> {
        self.whole().map(|size| size.is_some())
    }

    /// Take the next message; `None` until all of it has arrived.
    ///
    /// # Errors
    /// The bytes that follow are no message. The stream cannot be used any more.
    pub fn take(&mut self) -> Result<Option<&[u8]>, Malformed> {
        let Some(size) = self.whole()? else {
            return Ok(None);
        };
        let message = self.start..self.start + size;
        self.start += size;
        Ok(Some(&self.bytes[message]))
    }

    /// Free the memory of a stream on which nothing waits to be taken.
    pub fn shrink(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            (self.bytes, self.read) = (Vec::new(), FIRST_READ);
        }
    }
}
