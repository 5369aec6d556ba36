//! How much was stored, and what was lost.

use std::time::{Duration, Instant};

/// The time over which the rate of storing is measured.
const RATE_TIME: Duration = Duration::from_secs(10);

/// The number of bytes that were stored, and how many each second.
#[derive(Debug)]
pub(super) struct Stored {
    pub bytes: u64,
    rate: f64,
    at: Instant,
}

impl Default for Stored {
    /// Nothing is stored so far.
    fn default() -> Self {
        Self {
            bytes: 0,
            rate: 0.0,
            at: Instant::now(),
        }
    }
}

impl Stored {
    /// Record that bytes were stored.
    pub fn add(&mut self, bytes: u64) {
        self.rate = self.rate() + bytes as f64 / RATE_TIME.as_secs_f64();
        self.at = Instant::now();
        self.bytes += bytes;
    }

    /// Return the number of bytes that are stored each second: an average in which what was stored longer ago counts
    /// less.
    pub fn rate(&self) -> f64 {
        let age = self.at.elapsed().as_secs_f64() / RATE_TIME.as_secs_f64();
        self.rate * (-age).exp()
    }
}

/// Data that was lost when the host failed: it was not synced in the cache.
#[derive(Debug)]
pub(super) struct Lost {
    /// A number that no file of the cache has.
    pub number: u64,
    pub bytes: u64,
    /// The absolute path in the store.
    pub path: Vec<u8>,
}

/// The number of the first file of which data was lost.
pub(super) const FIRST_LOST: u64 = 1 << 63;
