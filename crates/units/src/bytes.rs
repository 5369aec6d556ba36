//! Amounts of data in bytes, such as `32 B`.

use crate::parse::{self, UnitError};
use std::fmt;
use std::str::FromStr;

/// An amount of data in whole bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// Names of the units, each with the number of bytes as numerator and denominator.
const UNITS: &[(&str, u128, u128)] = &[
    ("B", 1, 1),
    ("kB", 1_000, 1),
    ("MB", 1_000_000, 1),
    ("GB", 1_000_000_000, 1),
    ("TB", 1_000_000_000_000, 1),
    ("KiB", 1 << 10, 1),
    ("MiB", 1 << 20, 1),
    ("GiB", 1 << 30, 1),
    ("TiB", 1 << 40, 1),
];

impl Bytes {
    /// Return an amount of whole bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Return the amount in bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    /// The error for a text that is not an amount of data with a unit.
    type Err = UnitError;

    /// Parse an amount of data, such as `32 B`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse::exact(text, "an amount of data", "4096 B", "bytes", UNITS).map(Self)
    }
}

impl fmt::Display for Bytes {
    /// Write the amount with its unit, such as `4096 B`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}
