//! Bytes that were written to a link and that its other end has not confirmed: what is written
//! again when the link is made anew. No socket and no clock is in here; both ends of a lasting link
//! use it.
//!
//! All bytes of one direction have a place, counted from 0 over all sockets that the link ever had:
//!
//! ```text
//!      first          written        end         first + most
//! ───────┼───────────────┼────────────┼────────────────┼──────>
//!  gone  │ can be again  │  pending   │      room      │
//! ```
//!
//! `reached` is how far anything was ever written: the other end cannot have more.

use std::collections::VecDeque;
use std::fmt;

/// Bytes of one direction of a lasting link that are kept at most, by either end.
pub const UNCONFIRMED_BYTES: usize = 4 << 20;
/// Bytes after which the end that reads confirms.
pub const CONFIRM_BYTES: u64 = UNCONFIRMED_BYTES as u64 / 8;

/// Bytes that are kept ahead of what is written: they are written while they are in the cache.
const AHEAD: usize = 128 << 10;

/// What is kept of one direction of a link.
#[derive(Debug)]
pub struct Unconfirmed {
    most: usize,
    /// Those from `first` on.
    bytes: VecDeque<u8>,
    first: u64,
    written: u64,
    reached: u64,
}

/// The other end says that it has bytes that it cannot have, or lacks some that it confirmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strange {
    /// Where it says that it is.
    pub said: u64,
    /// From where to where it may be.
    pub may: (u64, u64),
}

impl fmt::Display for Strange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { said, may } = self;
        write!(
            f,
            "the other end says that it has {said} bytes: between {} and {} are possible",
            may.0, may.1
        )
    }
}

impl std::error::Error for Strange {}

impl Unconfirmed {
    /// Of nothing yet; `most` bytes are kept.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            most,
            bytes: VecDeque::new(),
            first: 0,
            written: 0,
            reached: 0,
        }
    }

    /// Bytes that can be put.
    #[must_use]
    pub fn room(&self) -> usize {
        self.most - self.bytes.len()
    }

    /// The place behind all that was put.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first + self.bytes.len() as u64
    }

    /// How far anything was ever written.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// The place behind what is written to the socket that there is now.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Keeps what there is room for of `bytes`, to be written; how many.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let now = bytes.len().min(self.room());
        self.bytes.extend(&bytes[..now]);
        now
    }

    /// The same of a header and what is behind it: as much of that as is to be kept ahead of what is
    /// written.
    pub fn put_frame(&mut self, head: &[u8], data: &[u8]) -> usize {
        let took = self.put(head);
        if took < head.len() {
            return took;
        }
        took + self.put(&data[..data.len().min(AHEAD)])
    }

    /// Takes back what was put and never written.
    pub fn take_back(&mut self) {
        let stays = self.reached - self.first;
        self.bytes.truncate(stays as usize);
    }

    /// What is to be written next, in two pieces.
    #[must_use]
    pub fn pending(&self) -> [&[u8]; 2] {
        let skip = (self.written - self.first) as usize;
        let (one, two) = self.bytes.as_slices();
        match skip < one.len() {
            true => [&one[skip..], two],
            false => [&two[skip - one.len()..], &[]],
        }
    }

    /// Whether something is to be written.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.written < self.end()
    }

    /// So many of those pending are written.
    pub fn wrote(&mut self, bytes: usize) {
        self.written = self.end().min(self.written + bytes as u64);
        self.reached = self.reached.max(self.written);
    }

    /// The other end has all bytes before `at`. What it has confirmed before is no news.
    ///
    /// # Errors
    /// [`Strange`]: so much is not written.
    pub fn confirm(&mut self, at: u64) -> Result<(), Strange> {
        match at > self.written {
            true => Err(self.strange(at, self.written)),
            false => {
                self.forget(at);
                Ok(())
            }
        }
    }

    /// The link has another socket, at whose other end all bytes before `at` are there: what
    /// follows them is pending.
    ///
    /// # Errors
    /// [`Strange`], and nothing is changed.
    pub fn again(&mut self, at: u64) -> Result<(), Strange> {
        if !(self.first..=self.reached).contains(&at) {
            return Err(self.strange(at, self.reached));
        }
        self.forget(at);
        self.written = at;
        Ok(())
    }

    fn forget(&mut self, before: u64) {
        let news = before.saturating_sub(self.first);
        self.bytes.drain(..news as usize);
        self.first += news;
    }

    fn strange(&self, said: u64, most: u64) -> Strange {
        let may = (self.first, most);
        Strange { said, may }
    }
}
