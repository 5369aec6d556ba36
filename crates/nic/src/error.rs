//! Errors of the daemon. A message is one line: where the error is, the problem and the remedy.

/// The reason why a daemon of the stream manager does not start, or why it ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the server: an address, a setting, or the system.
    #[error("{0}")]
    Server(#[from] isthmus_wire::Error),
    /// An error of the driver (the crate `stream-net`), which moves the data of streams over links
    /// and sockets.
    #[error("{0}")]
    Net(#[from] isthmus_stream_net::Error),
}

/// A value, or an error of the daemon.
pub type Result<T> = std::result::Result<T, Error>;
