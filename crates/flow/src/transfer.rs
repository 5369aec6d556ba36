//! Transfers, and reports on them.

use crate::rate::Rate;
use isthmus_kernel::Cycles;

/// A transfer of bytes over a path of links, which a caller offers to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<'a, T> {
    /// Number of bytes, at most [`BYTES_MAX`](crate::BYTES_MAX).
    pub bytes: u64,
    /// The links of the path, in any order, none twice. Without links, only the maximum rate limits
    /// the transfer.
    pub path: &'a [u32],
    /// Ticks from the begin of the transfer until its bytes start to move.
    pub latency: Cycles,
    /// The maximum rate, if there is one.
    pub rate_max: Option<Rate>,
    /// The rate that is reserved on all links of the path (rule 8), if any.
    pub reserved: Option<Rate>,
    /// Data of the handler, returned in the reports on the transfer.
    pub tag: T,
}

/// Report on a transfer that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered<T> {
    /// Number of the transfer, in order of begin.
    pub number: u64,
    /// The data of the handler that were offered with the transfer.
    pub tag: T,
    /// Number of bytes of the transfer.
    pub bytes: u64,
    /// The tick in which the transfer began, as offered.
    pub generated: Cycles,
    /// Time at which the transfer started to move, after its latency.
    pub moved: Cycles,
    /// The tick by which all bytes had moved, which is the time of this report.
    pub arrived: Cycles,
}

/// A transfer that moves at present, and its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moving<'e, T> {
    /// Number of the transfer, in order of begin.
    pub number: u64,
    /// The data of the handler that were offered with the transfer.
    pub tag: T,
    /// The rate of the transfer, including the reservation. `None`: the transfer waits, because its
    /// links have no capacity left.
    pub rate: Option<Rate>,
    /// The links of the path of the transfer.
    pub path: &'e [u32],
}
