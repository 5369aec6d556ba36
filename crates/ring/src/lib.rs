//! Links between processes of one machine for bulk data: a ring of bytes in memory that two
//! processes share, one of which writes and one reads.
//!
//! ```
//! use std::time::{Duration, Instant};
//!
//! let (mut producer, mut consumer) = isthmus_ring::ring(1 << 16)?;
//! // One of the two goes to another process: here
//! //     consumer.into_handles().send(&socket, deadline)?;
//! // and there
//! //     Consumer::attach(Handles::receive(&socket, deadline)?, 1 << 20)?
//! let deadline = Instant::now() + Duration::from_secs(1);
//! producer.write_all(b"a transfer unit", deadline)?;
//! producer.close();
//! let mut unit = [0; 15];
//! consumer.read_exact(&mut unit, deadline)?;
//! assert_eq!(&unit, b"a transfer unit");
//! assert_eq!(consumer.read(&mut unit, deadline)?, 0, "the end");
//! # Ok::<(), isthmus_ring::Error>(())
//! ```
//!
//! # Rules
//!
//! - **Two positions** say it all: how many bytes were ever written, and how many ever read. Each
//!   is written by one side only, which keeps its own copy and never reads it back. Bytes between
//!   the two belong to the consumer, all others to the producer ([`words`]).
//! - **Nothing waits for ever.** What waits has a deadline, and ends sooner when the other side
//!   closes or its process ends, however it ends: each side holds one end of a pair of sockets,
//!   which the system closes with the process ([`Error::PeerGone`]).
//! - **After a close what is in the ring can be read**, and after the producer's death as well:
//!   what it wrote is whole, as bytes count from when the position says so.
//! - **Who sleeps says so** in the ring, with the position for which it waits; the other side sends
//!   one byte through the sockets once that is reached, and makes no system call otherwise.
//! - **The other side is not trusted.** Its positions are checked, and wrong ones are told by
//!   [`Error::Corrupt`]. Memory is mapped only if it can neither shrink nor grow, and read and
//!   written by copies only: no reference to bytes is ever made that another process may write.
//!   What a lying producer can do is write other bytes than it says, which a checksum finds when it
//!   is taken of the copy: [`Consumer::read_seen`].
//! - **Bytes can stay where they are** while a driver sends them ([`Claim`]): they are given back in
//!   any order, and the position moves on when all before it are.
//! - **Half a ring at most** is waited for at a time. Of two that wait for half a ring, one always
//!   has it: they never wait for each other.
//!
//! Linux only: this crate is empty elsewhere. Every process that holds an end must be one that the
//! system sees die: a child that was forked without `exec` holds the end of its parent open.

#![cfg(target_os = "linux")]

pub mod reader;
pub mod words;
pub mod writer;

#[cfg(not(loom))]
mod claim;
#[cfg(not(loom))]
mod consumer;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod fds;
#[cfg(not(loom))]
mod handles;
#[cfg(not(loom))]
mod line;
#[cfg(not(loom))]
mod mapping;
#[cfg(not(loom))]
mod producer;
#[cfg(not(loom))]
mod wait;

#[cfg(all(test, loom))]
mod models;

#[cfg(not(loom))]
pub use self::{
    claim::Claim,
    consumer::{Consumer, Peeked},
    error::Error,
    fds::{Received, recv_fds, send_fds},
    handles::Handles,
    producer::{Producer, Reserved},
};

/// Bytes that are copied at a time where somebody looks at them: a copy of so many is still in the
/// first cache when the next step reads it.
pub const CHUNK: usize = 16 << 10;

/// A ring of `capacity` bytes, a power of two from 4 KiB to 1 GiB, and its two ends. Either may be
/// handed to another process ([`Producer::into_handles`], [`Consumer::into_handles`]).
///
/// # Errors
/// [`Error::Capacity`]; [`Error::System`] if the memory cannot be had, all of which is asked for
/// here.
#[cfg(not(loom))]
pub fn ring(capacity: u64) -> Result<(Producer, Consumer), Error> {
    let memory = mapping::create(capacity)?;
    let (line, other) = line::pair()?;
    let second = memory
        .try_clone()
        .map_err(|error| Error::system("a second descriptor of the memory", error))?;
    Ok((
        Producer::attach(Handles::new(memory, line), capacity)?,
        Consumer::attach(Handles::new(second, other), capacity)?,
    ))
}
