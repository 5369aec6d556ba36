//! How much is asked of a machine.

use isthmus_units::{Bandwidth, Rate};
use std::fmt;

/// How much is asked of a machine, in the way of its kind.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum Load {
    /// Demands of one PE per time: hypercubes.
    Rate(Rate),
    /// Payload of all nodes together per time: SCI fabrics.
    Bandwidth(Bandwidth),
    /// Data of each node per time: fat trees.
    PerNode(Bandwidth),
}

impl Load {
    /// The field that holds loads of this dimension, whichever way a file puts them.
    pub fn key(self) -> &'static str {
        match self {
            Self::Rate(_) => "workload.rate",
            Self::Bandwidth(_) | Self::PerNode(_) => "workload.load",
        }
    }

    /// The unit of [`amount`](Self::amount): `/ms`, `GB/s` or `MB/s`.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate(_) => "/ms",
            Self::Bandwidth(_) => "GB/s",
            Self::PerNode(_) => "MB/s",
        }
    }

    /// The load as a number of its unit.
    pub fn amount(self) -> f64 {
        match self {
            Self::Rate(rate) => rate.per_ms(),
            Self::Bandwidth(bandwidth) => bandwidth.bits_per_s() as f64 / 8e9,
            Self::PerNode(bandwidth) => bandwidth.bits_per_s() as f64 / 8e6,
        }
    }

    /// A load of the same dimension that is `amount` units; bandwidths are rounded to whole bits
    /// per second.
    #[must_use]
    pub fn with_amount(self, amount: f64) -> Self {
        // A float becomes the nearest integer there is: nothing of what is not above zero.
        let bandwidth = |bits: f64| Bandwidth::from_bits_per_s((amount * bits).round() as u64);
        match self {
            Self::Rate(_) => Self::Rate(Rate::from_per_s(amount * 1e3)),
            Self::Bandwidth(_) => Self::Bandwidth(bandwidth(8e9)),
            Self::PerNode(_) => Self::PerNode(bandwidth(8e6)),
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount(), self.unit())
    }
}
