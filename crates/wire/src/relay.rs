//! The relay of a TLS connection: a thread that moves the connection's bytes to and from a plain
//! socket.

use crate::socket::{Moved, Socket};
use crate::transport::Transport;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Maximum number of bytes that a relay stores in each direction.
const BYTES: usize = 64 << 10;

/// Time within which the last bytes of a connection must be written to the peer.
const LAST: Duration = Duration::from_secs(5);

/// Start a relay for a TLS connection. Return the plain socket that carries the connection from now
/// on.
pub(crate) fn start(transport: Transport) -> io::Result<Socket> {
    let (near, far) = UnixStream::pair()?;
    let thread = std::thread::Builder::new().name("tls-relay".into());
    thread.spawn(move || run(transport, &far.into()))?;
    Ok(near.into())
}

/// One direction of a relay between two sockets, with the bytes that were read from one side and
/// not yet written to the other.
struct Direction {
    bytes: Vec<u8>,
    /// Start, in the buffer, of the bytes that were read and not yet written. `to` is their end.
    from: usize,
    to: usize,
}

impl Direction {
    /// Create the state of a direction of the relay, with an empty buffer.
    fn new() -> Self {
        Self {
            bytes: vec![0; BYTES],
            from: 0,
            to: 0,
        }
    }

    /// Return whether no bytes of this direction wait to be written.
    fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Read from one side if no bytes wait, and write to the other. Return whether bytes moved;
    /// `None` if a side has ended.
    fn advance(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<Moved>,
        write: impl FnOnce(&[u8]) -> io::Result<Moved>,
    ) -> Option<bool> {
        let mut moved = false;
        if self.is_empty() {
            match read(&mut self.bytes) {
                Ok(Moved::Some(read)) => {
                    (self.from, self.to) = (0, read);
                    moved = true;
                }
                Ok(Moved::None) => return Some(false),
                Ok(Moved::End) | Err(_) => return None,
            }
        }
        match write(&self.bytes[self.from..self.to]) {
            Ok(Moved::Some(written)) => {
                self.from += written;
                Some(true)
            }
            Ok(Moved::None) => Some(moved),
            Ok(Moved::End) | Err(_) => None,
        }
    }
}

/// Relay bytes in both directions between the TLS connection and the plain socket, until one side
/// ends.
fn run(mut transport: Transport, near: &Socket) {
    let (mut inward, mut outward) = (Direction::new(), Direction::new());
    loop {
        let received = inward.advance(
            |bytes| transport.read(bytes),
            |bytes| near.write(&[IoSlice::new(bytes)]),
        );
        let Some(received) = received else {
            return transport.close();
        };
        let sent = outward.advance(|bytes| near.read(bytes), |bytes| transport.write(bytes));
        let Some(sent) = sent.filter(|_| transport.flush().is_ok()) else {
            // Write the remaining bytes to the peer: those that the near side (plain socket) wrote
            // before its end.
            let deadline = Instant::now() + LAST;
            let _ = transport.write_all(&[], deadline);
            return transport.close_gracefully(deadline);
        };
        if !received && !sent {
            sleep(&transport, near, &inward, &outward);
        }
    }
}

/// Wait until one of the two directions can move bytes.
fn sleep(transport: &Transport, near: &Socket, inward: &Direction, outward: &Direction) {
    let when = |yes: bool, flags: PollFlags| if yes { flags } else { PollFlags::empty() };
    let far_flags = when(inward.is_empty(), PollFlags::IN)
        | when(
            !outward.is_empty() || transport.wants_write(),
            PollFlags::OUT,
        );
    let near_flags =
        when(outward.is_empty(), PollFlags::IN) | when(!inward.is_empty(), PollFlags::OUT);
    // Leave out a side that waits for no event: `poll` would report its end again and again.
    let both = [(transport.as_fd(), far_flags), (near.as_fd(), near_flags)];
    let mut fds: Vec<_> = both
        .into_iter()
        .filter(|(_, flags)| !flags.is_empty())
        .map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags))
        .collect();
    // Ignore an interruption: the caller tries both directions again.
    let _ = poll(&mut fds, None);
}
