//! Errors of the daemon. Each is one line with the location, the problem and the remedy.

/// Why a daemon does not start, or why it ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server refuses: an address, a setting, or the system.
    #[error("{0}")]
    Server(#[from] isthmus_wire::Error),
    /// The driver of the streams refuses.
    #[error("{0}")]
    Net(#[from] isthmus_stream_net::Error),
}

/// A value, or the reason why there is none.
pub type Result<T> = std::result::Result<T, Error>;
