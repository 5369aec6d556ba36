//! Transfers, and reports on them.

use crate::rate::Rate;
use isthmus_kernel::Cycles;

/// A transfer of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<'a, T> {
    /// Number of bytes, at most [`BYTES_MAX`](crate::BYTES_MAX).
    pub bytes: u64,
    /// The links that it crosses, in any order, none twice. Without links only the bound limits it.
    pub path: &'a [u32],
    /// Ticks from its begin until it moves.
    pub latency: Cycles,
    /// The maximum rate, if there is one.
    pub rate_max: Option<Rate>,
    /// The reserved rate on all links of the path (rule 8), if there is one.
    pub reserved: Option<Rate>,
    /// Data for the handler.
    pub tag: T,
}

/// A transfer that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered<T> {
    /// Its number, in order of begin.
    pub number: u64,
    /// The handler's data.
    pub tag: T,
    /// Number of bytes.
    pub bytes: u64,
    /// The time for which it was offered.
    pub generated: Cycles,
    /// Time at which it began to move: its latency after the begin.
    pub moved: Cycles,
    /// The tick by which all of it had moved, which is the time of this report.
    pub arrived: Cycles,
}

/// A moving transfer with its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moving<'e, T> {
    /// Its number, in order of begin.
    pub number: u64,
    /// The handler's data.
    pub tag: T,
    /// Its rate, including the reservation. None if nothing is left for it.
    pub rate: Option<Rate>,
    /// The links that it crosses.
    pub path: &'e [u32],
}
