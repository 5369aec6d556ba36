//! Messages from one process to another through a ring, copied in and copied out.
//!
//! The process that reads is this program again, with its socket as standard input.

use crate::clock::timed;
use isthmus_ring::{Consumer, Error, Handles, ring};
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What to move.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Bytes of a message.
    pub message: usize,
    /// Bytes of the ring.
    pub capacity: u64,
    /// How many messages.
    pub messages: u64,
    /// Whether the reader looks at each piece, as for a checksum.
    pub seen: bool,
}

/// What it took.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// From the first byte written to the last one read.
    seconds: f64,
    /// CPU seconds of both processes meanwhile.
    cpu_s: f64,
}

/// Long enough for any run.
fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(120)
}

/// Writes the messages, and starts who reads them.
pub fn write(load: Load) -> Result<Report, Box<dyn std::error::Error>> {
    let (mut near, far) = UnixStream::pair()?;
    let child = Command::new(std::env::current_exe()?)
        .arg("ring_reader")
        .args([
            format!("message={}", load.message),
            format!("capacity={}", load.capacity),
            format!("messages={}", load.messages),
            format!("seen={}", u8::from(load.seen)),
        ])
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::piped())
        .spawn()?;
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
    let peer: Report = serde_json::from_slice(&child.wait_with_output()?.stdout)?;
    let cpu_s = cpu_s + peer.cpu_s;
    Ok(Report { seconds, cpu_s })
}

/// Reads them.
pub fn read(load: Load) -> Result<Report, Box<dyn std::error::Error>> {
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let mut socket = UnixStream::from(socket);
    let handles = Handles::receive(&socket, deadline())?;
    let mut consumer = Consumer::attach(handles, load.capacity)?;
    let mut message = vec![0; load.message];
    let until = deadline();
    let begin = Instant::now();
    socket.write_all(&[1])?;
    let mut pieces = 0_u64;
    let (outcome, cpu_s) = timed(|| {
        for number in 0..load.messages {
            if load.seen {
                consumer
                    .read_exact_with(&mut message, until, |piece| pieces += piece.len() as u64)?;
            } else {
                consumer.read_exact(&mut message, until)?;
            }
            assert_eq!(message[..8], number.to_ne_bytes(), "another message");
        }
        Ok::<(), Error>(())
    });
    outcome?;
    socket.write_all(&[1])?;
    let seconds = begin.elapsed().as_secs_f64();
    Ok(Report { seconds, cpu_s })
}
