//! What carries packets: a stream socket, or two rings in shared memory.

use crate::claims::Claims;
use crate::loan;
use crate::socket::{Moved, Socket};
use isthmus_ring::{Claim, Consumer, Error as Ring, Producer};
use rustix::event::PollFlags;
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Bytes of a packet that go to a ring together at first.
const TOGETHER: u64 = 32 << 10;

/// Both ways of a connection that loses nothing and keeps order.
#[derive(Debug)]
pub(crate) enum Carrier {
    Socket(Socket),
    Rings(Box<Rings>),
}

/// Two rings as a carrier.
#[derive(Debug)]
pub(crate) struct Rings {
    /// The one that is written here.
    pub out: Producer,
    /// The one that is read here.
    pub into: Consumer,
    /// Whether they go to a sink that may be lent data.
    pub lends: bool,
}

/// What came of an attempt to lend data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lent {
    /// The peer is told where it is.
    Told,
    /// It will be, when there is room to tell.
    Later,
    /// It is to be sent.
    No,
}

fn gone(error: &Ring) -> String {
    match error {
        Ring::PeerGone { .. } => "the peer's process ended".into(),
        other => other.to_string(),
    }
}

/// Writes a header and the first of its data to a ring together, so that who reads is not woken for
/// a header alone; 0 if there is no room for that now.
fn together(ring: &mut Producer, head: &[u8], data: &[u8]) -> Result<usize, String> {
    let most = (ring.capacity() / 2).min(TOGETHER) as usize;
    let first = data.len().min(most.saturating_sub(head.len()));
    let bytes = head.len() + first;
    // That nobody reads it any more is told by the write that follows.
    if ring.room().unwrap_or(0) < bytes as u64 {
        return Ok(0);
    }
    let mut room = ring
        .reserve(bytes, Instant::now())
        .map_err(|error| gone(&error))?;
    room.put(0, head);
    room.put(head.len(), &data[..first]);
    room.commit(bytes);
    Ok(bytes)
}

impl Carrier {
    /// One of two rings; `lends`: to a sink that may be lent data.
    pub fn rings(out: Producer, into: Consumer, lends: bool) -> Self {
        Self::Rings(Box::new(Rings { out, into, lends }))
    }

    /// The socket, if it is one.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Socket(socket) => Some(socket),
            Self::Rings(_) => None,
        }
    }

    /// Tells a peer that takes it so where the data behind a header lies.
    pub fn lend(&mut self, head: &[u8], claims: &Claims) -> Result<Lent, String> {
        let Self::Rings(rings) = self else {
            return Ok(Lent::No);
        };
        if !rings.lends || !claims.may_wait() || !rings.out.can_lend() {
            return Ok(Lent::No);
        }
        let out = &mut rings.out;
        let Some(loan) = out.lend(claims.claims()) else {
            return Ok(Lent::No);
        };
        let mut message = loan::encode(&loan);
        message.extend_from_slice(head);
        let bytes = message.len();
        if out.capacity() / 2 < bytes as u64 {
            return Ok(Lent::No);
        }
        // That nobody reads it any more is told by the write that follows.
        match out.room() {
            Ok(room) if room < bytes as u64 => return Ok(Lent::Later),
            Ok(_) => {}
            Err(_) => return Ok(Lent::No),
        }
        let mut room = out
            .reserve(bytes, Instant::now())
            .map_err(|error| gone(&error))?;
        room.put(0, &message);
        room.commit(bytes);
        Ok(Lent::Told)
    }

    /// Whether the peer takes loans now.
    pub fn can_lend(&self) -> bool {
        matches!(self, Self::Rings(rings) if rings.lends && rings.out.can_lend())
    }

    /// Takes back what is lent.
    pub fn revoke(&mut self) {
        if let Self::Rings(rings) = self {
            rings.out.revoke();
        }
    }

    /// Reads what is there.
    pub fn read(&mut self, bytes: &mut [u8]) -> Result<Moved, String> {
        match self {
            Self::Socket(socket) => socket.read(bytes).map_err(|error| error.to_string()),
            Self::Rings(rings) => match rings.into.try_read(bytes) {
                Ok(Some(0)) => Ok(Moved::None),
                Ok(Some(read)) => Ok(Moved::Some(read)),
                Ok(None) => Ok(Moved::End),
                Err(error) => Err(gone(&error)),
            },
        }
    }

    /// Writes what fits of the parts, one after the other.
    pub fn write(&mut self, parts: &[IoSlice<'_>]) -> Result<Moved, String> {
        match self {
            Self::Socket(socket) => socket.write(parts).map_err(|error| error.to_string()),
            Self::Rings(rings) => {
                let mut written = 0;
                if let [head, data, ..] = parts
                    && !head.is_empty()
                {
                    written = together(&mut rings.out, head, data)?;
                }
                let mut skip = written;
                for part in parts {
                    let had = skip.min(part.len());
                    skip -= had;
                    let part = &part[had..];
                    let took = match rings.out.try_write(part) {
                        Ok(took) => took,
                        Err(Ring::Closed { .. }) => return Ok(Moved::End),
                        Err(error) => return Err(gone(&error)),
                    };
                    written += took;
                    if took < part.len() {
                        break;
                    }
                }
                Ok(if written == 0 {
                    Moved::None
                } else {
                    Moved::Some(written)
                })
            }
        }
    }

    /// Writes what fits of a header and of the data behind it, of which `from` bytes of both are
    /// written: from the rings in which the data lie.
    pub fn write_claims(
        &mut self,
        head: &[u8],
        claims: &Claims,
        from: usize,
    ) -> Result<Moved, String> {
        let mut written = 0;
        loop {
            let from = from + written;
            let moved = match claims.at(from.saturating_sub(head.len())) {
                _ if from < head.len() => self.write_head(&head[from..])?,
                Some((claim, at)) => self.write_claim(claim, at)?,
                None => Moved::None,
            };
            match moved {
                Moved::Some(bytes) => written += bytes,
                Moved::None if written > 0 => return Ok(Moved::Some(written)),
                other => return Ok(other),
            }
        }
    }

    fn write_head(&mut self, head: &[u8]) -> Result<Moved, String> {
        match self {
            Self::Socket(socket) => socket.write_more(head).map_err(|error| error.to_string()),
            _ => self.write(&[IoSlice::new(head)]),
        }
    }

    fn write_claim(&mut self, claim: &Claim, from: usize) -> Result<Moved, String> {
        match self {
            Self::Socket(socket) => {
                let moved = socket.write_claim(claim, from);
                moved.map_err(|error| error.to_string())
            }
            Self::Rings(rings) => match rings.out.fill_from_claim(claim, from) {
                Ok(0) => Ok(Moved::None),
                Ok(moved) => Ok(Moved::Some(moved)),
                Err(Ring::Closed { .. }) => Ok(Moved::End),
                Err(error) => Err(gone(&error)),
            },
        }
    }

    /// Says that no more is written. A ring says so when it is dropped.
    pub fn finish(&self) {
        if let Self::Socket(socket) = self {
            socket.finish();
        }
    }

    /// Before a poll: whether what it waits for is not there already. `reads` and `writes` say how
    /// many bytes are waited for.
    pub fn arm(&mut self, reads: Option<u64>, writes: Option<u64>) -> bool {
        let Self::Rings(rings) = self else {
            return true;
        };
        let Rings { out, into, .. } = &mut **rings;
        // What cannot be armed is broken, and tells so when it is used.
        let reads = reads.is_none_or(|worth| {
            into.arm(worth.clamp(1, into.capacity() / 2))
                .unwrap_or(false)
        });
        let writes =
            writes.is_none_or(|worth| out.arm(worth.clamp(1, out.capacity() / 2)).unwrap_or(false));
        reads && writes
    }

    /// After a poll that found it ready.
    pub fn heed(&mut self) {
        if let Self::Rings(rings) = self {
            // Told by the next use.
            let _ = (rings.out.heed(), rings.into.heed());
        }
    }

    /// What to poll for.
    pub fn descriptors(&self, reads: bool, writes: bool) -> [(BorrowedFd<'_>, PollFlags); 2] {
        let when = |yes: bool, flags: PollFlags| if yes { flags } else { PollFlags::empty() };
        match self {
            Self::Socket(socket) => [
                (
                    socket.as_fd(),
                    when(reads, PollFlags::IN) | when(writes, PollFlags::OUT),
                ),
                (socket.as_fd(), PollFlags::empty()),
            ],
            // A ring is woken by a byte, whatever for.
            Self::Rings(rings) => [
                (rings.into.as_fd(), when(reads, PollFlags::IN)),
                (rings.out.as_fd(), when(writes, PollFlags::IN)),
            ],
        }
    }
}
