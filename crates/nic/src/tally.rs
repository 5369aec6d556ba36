//! What is counted for operators beside what the manager counts.

/// How streams end, in the order in which that is counted.
pub(crate) const ENDS: [&str; 3] = ["done", "failed", "cancelled"];

/// Counts of the daemon's life that the manager does not keep.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Streams that ended, by [`ENDS`].
    pub ended: [u64; 3],
    /// Connections that were lost.
    pub lost: u64,
    /// Times that a stream was told to be stalled.
    pub stalls: u64,
    /// Times that a lasting link lost its socket, and that it was given another one.
    pub links_cut: u64,
    pub links_restored: u64,
    /// Links whose other end was gone.
    pub links_gone: u64,
    /// Applications that were let in.
    pub applications: u64,
    /// Requests that were answered, and refused.
    pub answered: u64,
    pub refused: u64,
}
