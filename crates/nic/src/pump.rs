//! Links over TLS: what a rank writes comes out here, and goes on to the driver as it is, and back.

use crate::wire::{Moved, Wire, receive, send_some};
use rustix::event::{PollFd, PollFlags, poll};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes that wait each way.
const BYTES: usize = 64 << 10;

/// How long the last bytes to a rank may take.
const LAST: Duration = Duration::from_secs(5);

/// Bytes on their way in one direction.
struct Way {
    bytes: Vec<u8>,
    /// Those between are there, and not written.
    from: usize,
    to: usize,
}

impl Way {
    fn new() -> Self {
        Self {
            bytes: vec![0; BYTES],
            from: 0,
            to: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.from == self.to
    }

    /// Reads, if nothing waits, and writes; whether anything moved, none if a side has ended.
    fn carry(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> Moved,
        write: impl FnOnce(&[u8]) -> Moved,
    ) -> Option<bool> {
        let mut any = false;
        if self.is_empty() {
            match read(&mut self.bytes) {
                Moved::Some(read) => {
                    (self.from, self.to) = (0, read);
                    any = true;
                }
                Moved::None => return Some(false),
                Moved::End => return None,
            }
        }
        match write(&self.bytes[self.from..self.to]) {
            Moved::Some(written) => {
                self.from += written;
                Some(true)
            }
            Moved::None => Some(any),
            Moved::End => None,
        }
    }
}

/// Carries bytes until one side ends.
pub(crate) fn run(mut wire: Wire, driver: &UnixStream) {
    let (mut up, mut down) = (Way::new(), Way::new());
    let inner = driver.as_fd();
    loop {
        let from_rank = up.carry(|bytes| wire.read(bytes), |bytes| send_some(inner, bytes));
        let Some(rose) = from_rank else {
            return;
        };
        let from_driver = down.carry(|bytes| receive(inner, bytes), |bytes| wire.write(bytes));
        let Some(fell) = from_driver.filter(|_| wire.flush()) else {
            // What the driver said before it left is the rank's still.
            let deadline = Instant::now() + LAST;
            wire.write_all(&[], deadline);
            return wire.leave(deadline);
        };
        if rose || fell {
            continue;
        }
        sleep(&wire, inner, &up, &down);
    }
}

fn sleep(wire: &Wire, inner: impl AsFd, up: &Way, down: &Way) {
    let when = |yes: bool, flags: PollFlags| if yes { flags } else { PollFlags::empty() };
    let outer = when(up.is_empty(), PollFlags::IN)
        | when(!down.is_empty() || wire.wants_write(), PollFlags::OUT);
    let inside = when(down.is_empty(), PollFlags::IN) | when(!up.is_empty(), PollFlags::OUT);
    // A side of which nothing is wanted is left out: that it is gone would be told again and again.
    let both = [(wire.as_fd(), outer), (inner.as_fd(), inside)];
    let wanted = both.into_iter().filter(|(_, flags)| !flags.is_empty());
    let mut fds: Vec<_> = wanted
        .map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags))
        .collect();
    // Interrupted or not, all is looked at again.
    let _ = poll(&mut fds, None);
}
