//! Counters for operators, in addition to those of the stream manager.

/// How streams end, in the order of [`Counters::ended`].
pub(crate) const ENDS: [&str; 3] = ["done", "failed", "cancelled"];

/// Counters since the start of the daemon that the manager does not keep.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Streams that ended, in the order of [`ENDS`].
    pub ended: [u64; 3],
    /// Connections that were lost.
    pub lost: u64,
    /// Reports of a stalled stream.
    pub stalls: u64,
    /// Times that a lasting link lost its socket, and that it got a new one.
    pub links_cut: u64,
    pub links_restored: u64,
    /// Links whose other end was gone.
    pub links_gone: u64,
    /// Applications that were let in.
    pub applications: u64,
    /// Requests that were answered, and requests that were refused.
    pub answered: u64,
    pub refused: u64,
}
