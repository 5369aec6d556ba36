//! Rates and amounts of work, in whole steps of 2^-24 bytes.

use crate::error::Error;
use std::fmt;

/// Number of steps per byte; a step is the unit of work, and a step per tick the unit of rates.
const STEPS_PER_BYTE: u64 = 1 << 24;

/// Maximum size of a transfer in bytes: 512 GiB less one.
pub const BYTES_MAX: u64 = (1 << 39) - 1;

/// Upper bound of all rates, exclusive: the work of one tick at any rate is a 64-bit number.
const STEPS_LIMIT: u64 = 1 << 62;

/// Converts a number of bytes to steps of work (2^-24 bytes each).
pub(crate) const fn work(bytes: u64) -> u64 {
    bytes * STEPS_PER_BYTE
}

/// Converts steps of work (2^-24 bytes each) to bytes, rounded down.
pub(crate) fn whole_bytes(steps: u128) -> u64 {
    (steps / u128::from(STEPS_PER_BYTE)) as u64
}

/// A rate above 0 in bytes per tick, in whole steps of 2^-24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Creates a rate of `bytes` per `ticks` ticks, rounded down to a step.
    ///
    /// # Errors
    /// The result is 0 steps, or 2^38 bytes per tick and more.
    ///
    /// ```
    /// use isthmus_flow::Rate;
    ///
    /// // 40 MB/s with ticks of 1 ns: 40 bytes in 1,000 ticks.
    /// assert_eq!(Rate::new(40, 1_000).unwrap().steps(), 671_088);
    /// ```
    pub fn new(bytes: u64, ticks: u64) -> Result<Self, Error> {
        let steps = u128::from(bytes) * u128::from(STEPS_PER_BYTE);
        match steps.checked_div(ticks.into()) {
            Some(steps) if (1..u128::from(STEPS_LIMIT)).contains(&steps) => Ok(Self(steps as u64)),
            _ => Err(Error::NoRate { bytes, ticks }),
        }
    }

    /// Returns the rate as a number of steps of 2^-24 bytes per tick.
    #[inline]
    pub const fn steps(self) -> u64 {
        self.0
    }

    /// Returns the rate in bytes per tick, for display.
    pub fn bytes_per_tick(self) -> f64 {
        self.0 as f64 / STEPS_PER_BYTE as f64
    }

    /// Creates a rate from steps per tick; `None` for 0 steps.
    pub(crate) fn of(steps: u64) -> Option<Self> {
        (steps > 0).then_some(Self(steps))
    }
}

impl fmt::Display for Rate {
    /// Writes the rate in bytes per tick.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes per tick", self.bytes_per_tick())
    }
}
