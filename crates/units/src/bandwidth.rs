//! Bandwidths (data per time), such as `20 MB/s`.

use crate::parse::{self, UnitError};
use std::fmt;
use std::str::FromStr;

/// A bandwidth in whole bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth {
    bits_per_s: u64,
}

/// Names of the units, each with the number of bits per second as numerator and denominator.
const UNITS: &[(&str, u128, u128)] = &[
    ("B/s", 8, 1),
    ("kB/s", 8_000, 1),
    ("MB/s", 8_000_000, 1),
    ("GB/s", 8_000_000_000, 1),
    ("TB/s", 8_000_000_000_000, 1),
    ("KiB/s", 8 << 10, 1),
    ("MiB/s", 8 << 20, 1),
    ("GiB/s", 8 << 30, 1),
    ("bit/s", 1, 1),
    ("kbit/s", 1_000, 1),
    ("Mbit/s", 1_000_000, 1),
    ("Gbit/s", 1_000_000_000, 1),
    ("Tbit/s", 1_000_000_000_000, 1),
];

impl Bandwidth {
    /// Return a bandwidth of whole bits per second.
    pub const fn from_bits_per_s(bits_per_s: u64) -> Self {
        Self { bits_per_s }
    }

    /// Return a bandwidth of whole decimal megabytes per second.
    pub const fn from_mb_per_s(mb_per_s: u64) -> Self {
        Self {
            bits_per_s: mb_per_s * 8_000_000,
        }
    }

    /// Return the bandwidth in bits per second.
    pub const fn bits_per_s(self) -> u64 {
        self.bits_per_s
    }
}

impl FromStr for Bandwidth {
    /// The error for a text that is not a bandwidth with a unit.
    type Err = UnitError;

    /// Parse a bandwidth, such as `20 MB/s`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::exact(text, "a bandwidth", "20 MB/s", "bits per second", UNITS)
            .map(Self::from_bits_per_s)
    }
}

impl fmt::Display for Bandwidth {
    /// Write the bandwidth in MB/s.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB/s", self.bits_per_s as f64 / 8e6)
    }
}
