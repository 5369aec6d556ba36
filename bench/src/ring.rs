//! Messages from one process to another through a ring, copied in and copied out.
//!
//! The process that reads is this program again, with its socket as standard input.

use crate::clock::timed;
use crate::stream::{Outcome, deadline, other, said, stdin};
use isthmus_ring::{Consumer, Error, Handles, ring};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::time::Instant;

values! {
    /// What to move.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Bytes of a message.
        message: usize = 1 << 20,
        /// Bytes of the ring.
        capacity: u64 = 1 << 20,
        /// How many messages.
        messages: u64 = 2_000,
    }
}

/// What it took.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// From the first byte written to the last one read.
    seconds: f64,
    /// CPU seconds of both processes meanwhile.
    cpu_s: f64,
}

/// Writes the messages, and starts who reads them.
pub fn write(load: Load) -> Outcome<Report> {
    let arguments = [
        format!("message={}", load.message),
        format!("capacity={}", load.capacity),
        format!("messages={}", load.messages),
    ];
    let (child, mut near) = other("ring_reader", &arguments)?;
    let (mut producer, consumer) = ring(load.capacity)?;
    consumer.into_handles().send(&near, deadline())?;
    let mut message = vec![1; load.message];
    let mut byte = [0];
    near.read_exact(&mut byte)?;
    let until = deadline();
    let begin = Instant::now();
    let (outcome, cpu_s) = timed(|| {
        for number in 0..load.messages {
            message[..8].copy_from_slice(&number.to_ne_bytes());
            producer.write_all(&message, until)?;
        }
        // The reader says that it has all.
        near.read_exact(&mut byte)
            .map_err(|_| Error::PeerGone { moved: 0 })
    });
    outcome?;
    let seconds = begin.elapsed().as_secs_f64();
    let peer: Report = said(child)?;
    let cpu_s = cpu_s + peer.cpu_s;
    Ok(Report { seconds, cpu_s })
}

/// Reads them.
pub fn read(load: Load) -> Outcome<Report> {
    let mut socket = stdin()?;
    let handles = Handles::receive(&socket, deadline())?;
    let mut consumer = Consumer::attach(handles, load.capacity)?;
    let mut message = vec![0; load.message];
    let until = deadline();
    let begin = Instant::now();
    socket.write_all(&[1])?;
    let (outcome, cpu_s) = timed(|| {
        for number in 0..load.messages {
            consumer.read_exact(&mut message, until)?;
            assert_eq!(message[..8], number.to_ne_bytes(), "another message");
        }
        Ok::<(), Error>(())
    });
    outcome?;
    socket.write_all(&[1])?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Report { seconds, cpu_s })
}
