//! Conversion between physical time and the cycles of a simulation engine.

use crate::{Bandwidth, Bytes, Time};

/// A clock whose cycle is the time that one flit needs to cross one lane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// Length of one cycle in picoseconds.
    cycle_ps: f64,
    /// Size of one flit (the unit of flow control) in bytes.
    flit: Bytes,
}

impl Clock {
    /// Return the clock of a lane of `bandwidth` that moves one `flit` each cycle. Return `None` if either is
    /// zero.
    pub fn new(flit: Bytes, bandwidth: Bandwidth) -> Option<Self> {
        if flit.get() == 0 || bandwidth.bits_per_s() == 0 {
            return None;
        }
        let cycle_ps = flit.get() as f64 * 8e12 / bandwidth.bits_per_s() as f64;
        Some(Self { cycle_ps, flit })
    }

    /// Return the length of one cycle in microseconds.
    pub fn cycle_us(self) -> f64 {
        self.cycle_ps / 1e6
    }

    /// Return a span of time in cycles, rounded to the nearest whole cycle.
    pub fn cycles(self, span: Time) -> u64 {
        self.cycles_exact(span).round() as u64
    }

    /// Return a span of time in cycles, not rounded (for means of distributions).
    pub fn cycles_exact(self, span: Time) -> f64 {
        span.ps() as f64 / self.cycle_ps
    }

    /// Return the length of one cycle; `None` if it is not a whole number of picoseconds.
    pub fn cycle(self) -> Option<Time> {
        let whole = self.cycle_ps.fract() == 0.0;
        whole.then(|| Time::from_ps(self.cycle_ps as u64))
    }

    /// Return the number of flits that carry `size`, at least one.
    pub fn flits(self, size: Bytes) -> u32 {
        let flits = size.get().div_ceil(self.flit.get()).max(1);
        u32::try_from(flits).unwrap_or(u32::MAX)
    }
}
