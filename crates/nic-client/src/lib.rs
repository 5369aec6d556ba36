//! A client of the stream manager's daemon: what an application and its ranks call (Steenkiste
//! 1996, sections 5 and 6).
//!
//! A [`Session`] is one socket to the daemon and one thread, which writes requests, takes answers
//! and keeps events. Data goes over links of its own ([`Session::link`]): a ring in shared memory
//! each way, or a socket. A [`Stream`] cuts ADUs into the SUs of its links and puts them together
//! again.
//!
//! ```no_run
//! use isthmus_nic_client::words::{Carrier, Direction};
//! use isthmus_nic_client::{Address, Opening, Session, Timeout, spec};
//! use std::time::Duration;
//!
//! let soon = Timeout::after(Duration::from_secs(10));
//! let daemon = Address::parse("unix:/run/isthmus/nic.sock")?;
//! let session = Session::connect(&daemon, None, "example", soon)?;
//! session.link(0, Carrier::Rings { from_rank_bytes: 4 << 20, to_rank_bytes: 0 }, soon)?;
//! let connection = session.open(&Opening::to("file:/data/image"), soon)?;
//! let stream = session.stream(spec(connection, Direction::Transmit, 1 << 20, &[0], 2), soon)?;
//! for _ in 0..2 {
//!     stream.send(&vec![7; 1 << 20], soon)?;
//! }
//! stream.wait(soon)?;
//! session.close(connection, soon)?;
//! # Ok::<(), isthmus_nic_client::Error>(())
//! ```
//!
//! # Who owns what until when
//! The bytes that are sent are copied into the link: they are the caller's again when
//! [`Stream::send`] returns. That an ADU is *moved* ([`Stream::wait_moved`]) says that the manager
//! has all of it; that it is *done* ([`Stream::wait_done`], and [`Stream::wait`] of all) says what
//! the destination promises.
//!
//! # What ends a wait
//! Each call has a [`Timeout`]. When the daemon dies, every call that waits and every later one
//! gets the same [`Error::Gone`].
//!
//! Linux only, as the rings are: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod calls;
mod core;
mod error;
mod half;
mod lasting;
mod link;
mod lock;
mod pending;
mod pipe;
mod post;
mod receive;
mod registry;
mod renewing;
mod send;
mod session;
mod stream;

pub use calls::{Opening, spec};
pub use error::{Error, Result};
pub use isthmus_wire::{Remote as Address, Timeout};
pub use pending::Pending;
pub use receive::Received;
pub use session::{Session, Welcome};
pub use stream::Stream;

/// The words of the control interface.
pub use isthmus_nic_protocol as words;
