//! Rates (events per time), such as `6.4 /ms`.

use crate::parse::{self, UnitError};
use std::fmt;
use std::str::FromStr;

/// A mean rate of events, stored per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Rate {
    per_s: f64,
}

/// Names of the units, each with the number of events per second as numerator and denominator.
const UNITS: &[(&str, u128, u128)] = &[
    ("/s", 1, 1),
    ("/ms", 1_000, 1),
    ("/us", 1_000_000, 1),
    ("/ns", 1_000_000_000, 1),
];

impl Rate {
    /// Return a rate of `per_s` events per second, which must be finite and not negative.
    pub const fn from_per_s(per_s: f64) -> Self {
        Self { per_s }
    }

    /// Return the rate in events per second.
    pub const fn per_s(self) -> f64 {
        self.per_s
    }

    /// Return the rate in events per millisecond.
    pub fn per_ms(self) -> f64 {
        self.per_s / 1e3
    }
}

impl FromStr for Rate {
    /// The error for a text that is not a rate with a unit.
    type Err = UnitError;

    /// Parse a rate, such as `6.4 /ms`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = parse::split(text, "a rate", "6.4 /ms")?;
        let (numerator, denominator) = parse::scale(text, unit, "a rate", UNITS)?;
        Ok(Self::from_per_s(
            number.as_f64() * numerator as f64 / denominator as f64,
        ))
    }
}

impl fmt::Display for Rate {
    /// Write the rate in events per millisecond.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /ms", self.per_ms())
    }
}
