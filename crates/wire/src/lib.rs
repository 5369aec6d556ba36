//! Sockets, TLS and addresses for daemons and their clients.
//!
//! | module | contents |
//! |---|---|
//! | `socket`, `unacknowledged` | a stream socket that never blocks; bytes that its peer has not acknowledged |
//! | `transport`, `tls` | such a socket with or without TLS, in either role |
//! | `relay` | a thread that joins a TLS connection to a plain socket |
//! | [`address`], `listen`, `connect` | addresses as text; where a server listens; where a client connects |
//! | `deadline`, `signal`, `random` | waiting for a descriptor, and the timeout of a call; waking a thread; random keys |
//!
//! No module depends on a protocol. Linux only: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

pub mod address;
mod connect;
mod deadline;
mod error;
mod listen;
mod random;
mod relay;
mod signal;
mod socket;
mod tls;
mod transport;
mod unacknowledged;

pub use connect::Remote;
pub use deadline::{Expired, Timeout, timespec, wait_ready};
pub use error::{Error, Result};
pub use listen::{Address, Listener, bind_udp, listen_tcp};
pub use random::{random_bytes, random_key};
pub use signal::Signal;
pub use socket::{Moved, Socket, connect_udp};
pub use tls::{Certificate, ServerTls, Trust, install_crypto_provider};
pub use transport::{Peer, Transport};
pub use unacknowledged::Unacknowledged;
