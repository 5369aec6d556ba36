//! A client of the stream manager's daemon, for applications and their ranks (Steenkiste 1996,
//! sections 5 and 6).
//!
//! A [`Session`] is one socket to the daemon and one thread, which writes requests and receives
//! answers and events. Data goes over separate links ([`Session::link`]): a ring in shared memory
//! in each direction, or a socket. A [`Stream`] divides ADUs into the SUs of its links and joins
//! them again.
//!
//! ```no_run
//! use isthmus_nic_client::protocol::{Carrier, Direction};
//! use isthmus_nic_client::{Address, ConnectionOptions, Session, Timeout, spec};
//! use std::time::Duration;
//!
//! let soon = Timeout::after(Duration::from_secs(10));
//! let daemon = Address::parse("unix:/run/isthmus/nic.sock")?;
//! let session = Session::connect(&daemon, None, "example", false, soon)?;
//! session.link(0, Carrier::Rings { from_rank_bytes: 4 << 20, to_rank_bytes: 0 }, soon)?;
//! let connection = session.open(&ConnectionOptions::to("file:/data/image"), soon)?;
//! let stream = session.stream(spec(connection, Direction::Transmit, 1 << 20, &[0], 2), soon)?;
//! for _ in 0..2 {
//!     stream.send(&vec![7; 1 << 20], soon)?;
//! }
//! stream.wait(soon)?;
//! session.close(connection, soon)?;
//! # Ok::<(), isthmus_nic_client::Error>(())
//! ```
//!
//! # Ownership of data
//! [`Stream::send`] copies the data into the link, so the caller may reuse its memory afterwards.
//! An ADU is *moved* ([`Stream::wait_moved`]) when the manager has all of it. It is *done*
//! ([`Stream::wait_done`], and [`Stream::wait`] for all ADUs) when the destination's promise holds.
//!
//! # Timeouts
//! Each call has a [`Timeout`]. When the daemon dies, every waiting and every later call returns
//! the same [`Error::Gone`].
//!
//! Linux only, as the rings are: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod calls;
mod core;
mod error;
mod io_thread;
mod lasting;
mod link;
mod lock;
mod pending;
mod pipe;
mod receive;
mod reconnect;
mod registry;
mod send;
mod session;
mod stream;
mod timed_mutex;

pub use calls::{ConnectionOptions, spec};
pub use error::{Error, Result};
pub use isthmus_nic_protocol::Welcome;
pub use isthmus_wire::{Remote as Address, Timeout};
pub use pending::Pending;
pub use receive::Received;
pub use session::Session;
pub use stream::Stream;

/// The protocol of the control interface.
pub use isthmus_nic_protocol as protocol;
