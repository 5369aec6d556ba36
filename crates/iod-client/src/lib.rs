//! The client of an I/O daemon, or of any other server of 9P2000.L: it sends requests without
//! waiting for the replies to those before.
//!
//! A [`Connection`] is used by one thread. [`Connection::begin`] queues a request with a value of
//! the caller; [`Connection::next`] waits for the next reply, which may be that of any request in
//! flight, and returns the value with it. [`Connection::call`] does both for a single request.
//!
//! ```no_run
//! use isthmus_forward::message::{Reply, Request};
//! use isthmus_iod_client::{Connection, ROOT};
//! use isthmus_wire::{Remote, Timeout};
//! use std::time::Duration;
//!
//! let remote = Remote::parse("unix:/run/job/iod.sock")?;
//! let time = Duration::from_secs(10);
//! let mut daemon = Connection::open(&remote, None, b"/scratch/job", time)?;
//! // Eight files at once: each walk is one request, and all are under way before the first reply.
//! for fid in 1..=8_u32 {
//!     let name = format!("rank-{fid}.bin");
//!     daemon.begin_walk(ROOT, fid, &[name.as_bytes()], fid)?;
//! }
//! while daemon.in_flight() > 0 {
//!     let found = daemon.next(|fid, reply| reply.map(|_| fid))?;
//!     println!("{found:?}");
//! }
//! # Ok::<(), isthmus_iod_client::Error>(())
//! ```
//!
//! A [`Link`] is a connection for many threads that outlives the daemon: it keeps each request until its reply, and sends
//! it again once the daemon is back. A [`Mount`] has the files of a daemon in a directory, by FUSE, over a link; [`RemoteFiles`] has them by their paths.
//!
//! Linux only: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod connection;
mod error;
mod link;
mod mount;
mod remote;

pub use connection::{Connection, ROOT};
pub use error::{Error, Result};
pub use isthmus_forward::Errno;
pub use isthmus_forward::message::{Attributes, DaemonStatus};
pub use link::{Done, Link, Memory, Recalled, Target};
pub use mount::{Mount, MountConfig};
pub use remote::{Answer, Fetched, Listed, RemoteFiles, Unstored};
