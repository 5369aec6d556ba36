//! Transfers of bytes over links, and the reports of the engine on them.

use crate::rate::Rate;
use isthmus_kernel::Cycles;

/// A transfer of bytes over a path of links, which a caller offers to the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<'a, T> {
    /// Number of bytes of the transfer, at most [`BYTES_MAX`](crate::BYTES_MAX).
    pub bytes: u64,
    /// The links of the path, in any order, none twice. Without links, only the maximum rate limits
    /// the transfer.
    pub path: &'a [u32],
    /// Ticks from the start of the transfer until its bytes start to move.
    pub latency: Cycles,
    /// The maximum rate of the transfer, if there is one.
    pub rate_max: Option<Rate>,
    /// The rate that the transfer reserves on all links of its path (rule 8 of the crate), if any.
    pub reserved: Option<Rate>,
    /// Data that the handler attaches to the transfer. The reports on the transfer contain it.
    pub tag: T,
}

/// A transfer that has ended, as the engine reports it to the handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered<T> {
    /// Number of the transfer. Transfers are numbered in the order in which they begin.
    pub number: u64,
    /// Data that the handler attached to the transfer.
    pub tag: T,
    /// Number of bytes of the transfer.
    pub bytes: u64,
    /// The tick for which the transfer was offered, in which it began.
    pub generated: Cycles,
    /// Time at which the transfer started to move, after its latency.
    pub moved: Cycles,
    /// The tick by which all bytes of the transfer had moved; it is also the time of this report.
    pub arrived: Cycles,
}

/// A transfer that is in progress, with its present rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moving<'e, T> {
    /// Number of the transfer. Transfers are numbered in the order in which they begin.
    pub number: u64,
    /// Data that the handler attached to the transfer.
    pub tag: T,
    /// The rate of the transfer, including the reservation. `None`: the transfer waits, because its
    /// links have no capacity left.
    pub rate: Option<Rate>,
    /// Numbers of the links that the transfer crosses.
    pub path: &'e [u32],
}
