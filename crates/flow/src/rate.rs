//! Rates and work in whole steps.

use crate::Error;
use std::fmt;

/// Steps of a byte: work and rates are counted in them.
const STEPS_PER_BYTE: u64 = 1 << 24;

/// Below this are all rates, so that a tick of the fastest is a number of 64 bits.
const STEPS_LIMIT: u64 = 1 << 62;

/// So many bytes, in steps.
pub(crate) const fn work(bytes: u64) -> u64 {
    bytes * STEPS_PER_BYTE
}

/// The whole bytes in so many steps.
pub(crate) fn whole_bytes(steps: u128) -> u64 {
    (steps / u128::from(STEPS_PER_BYTE)) as u64
}

/// Bytes per tick, more than none, in whole steps of 2^-24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `bytes` in each `ticks` ticks, rounded down to a step.
    ///
    /// # Errors
    /// If that is no step, or 2^38 bytes per tick and more.
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

    /// Its steps: 2^-24 bytes per tick each.
    #[inline]
    pub const fn steps(self) -> u64 {
        self.0
    }

    /// Bytes per tick, for those who draw or print.
    pub fn bytes_per_tick(self) -> f64 {
        self.0 as f64 / STEPS_PER_BYTE as f64
    }

    /// So many steps, if there are any.
    pub(crate) fn of(steps: u64) -> Option<Self> {
        (steps > 0).then_some(Self(steps))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes per tick", self.bytes_per_tick())
    }
}
