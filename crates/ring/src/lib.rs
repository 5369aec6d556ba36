//! Links for bulk data between processes of one machine: a ring of bytes in memory shared by two
//! processes, of which one writes and one reads.
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
//! - **Two positions** are the whole state: the total numbers of bytes written and read. Each
//!   position is written by one side only, which has its own copy and never reads the shared one
//!   back. Bytes between the two positions belong to the consumer, all others to the producer
//!   ([`words`]).
//! - **No call waits for ever.** Each waiting call has a deadline, and ends sooner when the other
//!   side closes or its process ends for any reason. Each side holds one end of a pair of sockets,
//!   which the system closes with the process ([`Error::PeerGone`]).
//! - **After a close the data in the ring can still be read**, also after the producer's death. All
//!   of it is complete, because bytes count only once the position includes them.
//! - **A sleeping side announces its sleep** in the ring, with the position for which it waits. The
//!   other side sends one byte through the sockets when that position is reached, and makes no
//!   system call otherwise.
//! - **The other side is not trusted.** Its positions are checked, and invalid ones give
//!   [`Error::Corrupt`]. Memory is mapped only if it can neither shrink nor grow, and is accessed
//!   by copies only: no reference to bytes ever exists that another process may write. A
//!   misbehaving producer can still write wrong bytes, which a checksum of the copy detects.
//! - **Bytes can stay in place** while a driver sends them ([`Claim`]). They are released in any
//!   order, and the position advances when all bytes before it are released.
//! - **Half a ring is the maximum** to wait for. Of two sides that wait for half a ring, one always
//!   has it, so they never wait for each other.
//!
//! Linux only: this crate is empty elsewhere. The system must be able to detect the death of every
//! process that holds an end: a child that was forked without `exec` keeps the end of its parent
//! open.

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
    consumer::Consumer,
    error::Error,
    fds::{Received, recv_fds, send_fds},
    handles::Handles,
    producer::{Producer, Reserved},
};

/// Number of bytes that a caller should copy before it computes their checksum. A copy of this size
/// is then still in the L1 cache.
pub const CHUNK: usize = 16 << 10;

/// Creates a ring of `capacity` bytes, a power of two from 4 KiB to 1 GiB, and its two ends. Either
/// end may be passed to another process ([`Producer::into_handles`], [`Consumer::into_handles`]).
///
/// # Errors
/// [`Error::Capacity`]; [`Error::System`] if the memory cannot be allocated. All of it is allocated
/// at once.
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
