//! A driver (stream manager with its sockets) for fuzzers, and the other ends of its sockets. There a fuzzer
//! acts as a network peer or as ranks, in the same thread as the driver. The calls never wait.

use crate::draw::Draw;
use isthmus_stream::checksum::crc32c;
use isthmus_stream::{Config, Direction, Limits};
use isthmus_stream_net::Driver;
use isthmus_stream_net::frame::Frame;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

/// Staging memory of the driver in bytes.
pub const STAGING: u64 = 16 << 10;
/// Network memory of the driver in bytes.
pub const NETWORK: u64 = 32 << 10;

/// Creates a driver (a stream manager with its sockets) with little memory, whose timeouts do not
/// expire during a fuzzer's run.
pub fn driver() -> (Driver, isthmus_stream::AppId) {
    let config = Config {
        staging_bytes: STAGING,
        engines: 4,
        network_bytes: NETWORK,
        stall_ns: 3_600_000_000_000,
        ended_kept: 4,
    };
    let mut driver = Driver::new(config).expect("sizes above 0");
    let app = driver.add_application(Limits::NONE);
    (driver, app)
}

/// Runs the driver until it has no work, at most `times` rounds, and checks that it uses no more memory than
/// it may.
pub fn turn(driver: &mut Driver, times: usize) {
    for _ in 0..times {
        let any = driver.turn(Some(Instant::now())).expect("the system waits");
        while driver.poll_event().is_some() {}
        if !any {
            break;
        }
    }
    for direction in [Direction::Transmit, Direction::Receive] {
        let (staging, network) = driver.manager().used(direction);
        assert!(staging <= STAGING && network <= NETWORK);
    }
    // Check the allocated memory. Blocks in use may be four times as large as their data, and the driver may keep
    // as much memory for reuse.
    let most = 2 * (STAGING + NETWORK) * 5;
    let has = driver.figures().memory_bytes;
    assert!(
        has <= most,
        "{has} bytes of memory where {most} are the most"
    );
}

/// Returns `bytes` bytes of the made-up content of an application data unit (ADU), from `offset` on. Sender and
/// receiver compute the same content.
pub fn content(stream: u32, adu: u64, offset: u64, bytes: usize) -> Vec<u8> {
    let seed = u64::from(stream) << 32 ^ adu << 16;
    let bytes = 0..bytes as u64;
    let of = |at: u64| (offset.wrapping_add(at) ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    bytes.map(|at| of(at) as u8).collect()
}

/// One end of a pair of sockets, at which a fuzzer acts as a network peer or as a rank (application process),
/// and the bytes that were read from it.
pub struct End {
    socket: UnixStream,
    pub had: Vec<u8>,
}

impl End {
    /// Creates a pair of sockets. Returns one end with its buffer, and the socket of the other end.
    pub fn pair() -> (Self, UnixStream) {
        let (socket, other) = UnixStream::pair().expect("a pair of sockets");
        socket.set_nonblocking(true).expect("a socket's flag");
        let had = Vec::new();
        (Self { socket, had }, other)
    }

    /// Writes as many bytes as the socket accepts. Returns whether that was all of them.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        matches!(self.socket.write(bytes), Ok(written) if written == bytes.len())
    }

    /// Writes as many bytes as the socket accepts. Returns the number of bytes written.
    pub fn write_some(&mut self, bytes: &[u8]) -> usize {
        self.socket.write(bytes).unwrap_or(0)
    }

    /// Reads all bytes that are available on the socket.
    pub fn read(&mut self) {
        let mut room = [0; 16 << 10];
        loop {
            match self.socket.read(&mut room) {
                Ok(0) => return,
                Ok(read) => self.had.extend_from_slice(&room[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// Returns a random encoded header: `like` with random changes, and a valid checksum at its end.
pub fn any_header<const BYTES: usize>(draw: &mut Draw, like: [u8; BYTES]) -> [u8; BYTES] {
    let mut bytes = like;
    for _ in 0..=draw.below(4) {
        bytes[draw.below(BYTES)] = draw.byte();
    }
    let sum = crc32c(&bytes[..BYTES - 4]);
    bytes[BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// Removes complete frames from the front of the bytes that a rank received, and returns each with
/// its data.
pub fn take_frames(had: &mut Vec<u8>) -> Vec<(Frame, Vec<u8>)> {
    let mut frames = Vec::new();
    let mut at = 0;
    while let Some(head) = had[at..].first_chunk::<{ Frame::BYTES }>() {
        let frame = Frame::decode(head).expect("a driver writes frames");
        let begin = at + Frame::BYTES;
        let Some(data) = had.get(begin..begin + frame.bytes as usize) else {
            break;
        };
        frames.push((frame, data.to_vec()));
        at = begin + data.len();
    }
    had.drain(..at);
    frames
}
