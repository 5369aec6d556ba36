//! Counters for operators, in addition to those of the stream manager.

/// The outcomes of streams, in the order of [`Counters::ended`].
pub(crate) const ENDS: [&str; 3] = ["done", "failed", "cancelled"];

/// Counters since the start of the daemon, in addition to those of the manager.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Number of streams that ended, by outcome, in the order of [`ENDS`].
    pub ended: [u64; 3],
    /// Number of connections that were lost since the start.
    pub lost: u64,
    /// Number of times that a stream was reported as stalled (without progress).
    pub stalls: u64,
    /// Number of times that a lasting link, which survives the loss of its socket, lost its socket.
    pub links_cut: u64,
    /// Number of times that a lasting link got a new socket after such a loss.
    pub links_restored: u64,
    /// Number of links whose other end, a process of the application, was gone.
    pub links_gone: u64,
    /// Number of applications that the daemon has admitted since its start.
    pub applications: u64,
    /// Number of requests that were answered. `refused` is the number of refused ones.
    pub answered: u64,
    pub refused: u64,
}
