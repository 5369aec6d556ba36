//! Spans of time, such as `0.156 ms`, exact to the picosecond.

use crate::parse::{self, UnitError};
use std::fmt;
use std::str::FromStr;

/// A span of time in whole picoseconds (up to 213 days).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    ps: u64,
}

/// Names of the units, each with the number of picoseconds as numerator and denominator.
const UNITS: &[(&str, u128, u128)] = &[
    ("ps", 1, 1),
    ("ns", 1_000, 1),
    ("us", 1_000_000, 1),
    ("ms", 1_000_000_000, 1),
    ("s", 1_000_000_000_000, 1),
    ("min", 60_000_000_000_000, 1),
    ("h", 3_600_000_000_000_000, 1),
];

impl Time {
    /// The span of length zero.
    pub const ZERO: Self = Self { ps: 0 };

    /// Return a time of `ps` whole picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self { ps }
    }

    /// Return a time of `ns` whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ps: ns * 1_000 }
    }

    /// Return a time of `us` whole microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self { ps: us * 1_000_000 }
    }

    /// Return this time in picoseconds.
    pub const fn ps(self) -> u64 {
        self.ps
    }

    /// Return this time in microseconds.
    pub fn us(self) -> f64 {
        self.ps as f64 / 1e6
    }

    /// Return this time in seconds.
    pub fn seconds(self) -> f64 {
        self.ps as f64 / 1e12
    }
}

impl FromStr for Time {
    /// The error for a text that is not a span of time with a unit.
    type Err = UnitError;

    /// Parse a span of time, such as `0.156 ms`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::exact(text, "a time", "0.156 ms", "picoseconds", UNITS).map(Self::from_ps)
    }
}

impl fmt::Display for Time {
    /// Write the time in the largest unit in which the number is at least one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, size) = [("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3)]
            .into_iter()
            .find(|&(_, size)| self.ps as f64 >= size)
            .unwrap_or(("ps", 1.0));
        write!(f, "{} {name}", self.ps as f64 / size)
    }
}
