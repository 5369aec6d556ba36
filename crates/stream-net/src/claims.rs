//! Claims on ring memory: data of transfer units (TUs) and packets stays in the shared-memory rings
//! of links until it is sent from there. The claims are stored in the order of the data.

use crate::sum::Sum;
use isthmus_ring::Claim;
use isthmus_stream::LinkId;
use isthmus_stream::checksum::Checksum;
use isthmus_wire::{Moved, Socket};
use std::collections::BTreeMap;
use std::io;

/// Number of bytes that are copied before their checksum is computed. The copy stays in the L1
/// cache.
const SUM_STEP: usize = 16 << 10;

/// A claim: contiguous bytes in the shared-memory ring of one link that must not be overwritten
/// yet.
#[derive(Debug)]
pub(crate) struct RingClaim {
    pub link: LinkId,
    pub claim: Claim,
}

/// A buffer into which bytes of shared-memory rings are copied to compute their checksum. A rank may
/// write to its ring at any time, so Rust allows no reference to the bytes in the ring.
#[derive(Debug, Default)]
pub(crate) struct SumBuffer(Vec<u8>);

impl SumBuffer {
    /// Adds the bytes of one claim (piece of ring memory) to the checksum `sum`.
    pub fn sum(&mut self, claim: &Claim, checksum: Checksum, sum: &mut Sum) {
        if checksum == Checksum::None {
            return;
        }
        self.0.resize(SUM_STEP, 0);
        let mut at = 0;
        while at < claim.len() {
            let copied = claim.get(at, &mut self.0);
            sum.add(&self.0[..copied]);
            at += copied;
        }
    }
}

/// Writes the bytes of a claim (piece of ring memory) from byte `from` on to a socket, without copying them.
/// Returns how many were written.
pub(crate) fn write_claim(socket: &Socket, claim: &Claim, from: usize) -> io::Result<Moved> {
    socket.set_nonblocking()?;
    match claim.write_to(socket, from) {
        Ok(0) => Ok(Moved::None),
        Ok(written) => Ok(Moved::Some(written)),
        Err(isthmus_ring::Error::System { error, .. }) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(Moved::None),
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Ok(Moved::End),
            _ => Err(error),
        },
        Err(other) => Err(io::Error::other(other)),
    }
}

/// The pieces of shared ring memory (claims) that hold the data of one packet, in the order of the
/// data.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    parts: Vec<RingClaim>,
    len: usize,
}

impl Claims {
    /// Appends a claim (piece of ring memory) with the next data of the packet.
    fn push(&mut self, part: RingClaim) {
        self.len += part.claim.len();
        let Some(last) = self.parts.last_mut() else {
            return self.parts.push(part);
        };
        if let Err(claim) = last.claim.join(part.claim) {
            self.parts.push(RingClaim { claim, ..part });
        }
    }

    /// Returns the number of bytes of the packet's data that lie in claimed ring memory.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether some of the packet's data is in the shared-memory ring of this link.
    pub fn lies_on(&self, link: LinkId) -> bool {
        self.parts.iter().any(|part| part.link == link)
    }

    /// Returns the piece of ring memory (claim) that holds byte `from` of the packet, and the
    /// position of the byte in that piece. `None` beyond the end of the packet.
    pub fn at(&self, mut from: usize) -> Option<(&Claim, usize)> {
        for part in &self.parts {
            if from < part.claim.len() {
                return Some((&part.claim, from));
            }
            from -= part.claim.len();
        }
        None
    }

    /// Copies all data of the packet from the rings to `bytes`, which must have the same length.
    pub fn copy_to(&self, bytes: &mut [u8]) {
        let mut at = 0;
        for part in &self.parts {
            at += part.claim.get(0, &mut bytes[at..]);
        }
    }

    /// Returns the checksum of the packet's data.
    pub fn sum(&self, checksum: Checksum) -> Sum {
        let mut sum = Sum::new(checksum);
        let mut sum_buffer = SumBuffer::default();
        for part in &self.parts {
            sum_buffer.sum(&part.claim, checksum, &mut sum);
        }
        sum
    }
}

/// The data of a transfer unit (TU) that is still in shared-memory rings: pieces of ring memory (claims), by
/// the position of their first byte in the TU. They do not overlap.
#[derive(Debug, Default)]
pub(crate) struct Claimed(BTreeMap<usize, RingClaim>);

impl Claimed {
    /// Returns whether no data of the transfer unit is in shared-memory rings.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Releases all claims on ring memory of the transfer unit.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Releases the claims on bytes `at .. at + bytes` of the transfer unit: a striping unit (SU)
    /// that the rank sends again.
    pub fn clear_range(&mut self, at: usize, bytes: usize) {
        self.0.retain(|begin, _| !(at..at + bytes).contains(begin));
        // Shorten a claim that begins before `at`: `put` may have joined the removed bytes to it.
        if let Some((begin, before)) = self.0.range_mut(..at).next_back() {
            drop(before.claim.split_off(at - begin));
        }
    }

    /// Adds a claim (piece of ring memory) that holds the data from byte `at` of the transfer unit on. If the
    /// claim before it ends there, also in the ring, the two become one.
    pub fn put(&mut self, at: usize, part: RingClaim) {
        let before = self.0.range_mut(..at).next_back();
        let claim = match before {
            Some((begin, before)) if begin + before.claim.len() == at => {
                match before.claim.join(part.claim) {
                    Ok(()) => return,
                    Err(claim) => claim,
                }
            }
            _ => part.claim,
        };
        self.0.insert(at, RingClaim { claim, ..part });
    }

    /// Removes and returns the claims on bytes `at .. at + bytes` of the transfer unit. None if
    /// some of the bytes are not claimed.
    pub fn take(&mut self, at: usize, bytes: usize) -> Option<Claims> {
        let end = at + bytes;
        if bytes == 0 || !self.covers(at, end) {
            return None;
        }
        let mut claims = Claims::default();
        let mut next = at;
        while next < end {
            let begin = *self.0.range(..=next).next_back()?.0;
            let mut part = self.0.remove(&begin)?;
            let mut wanted = RingClaim {
                claim: part.claim.split_off(next - begin),
                ..part
            };
            if begin < next {
                self.0.insert(begin, part);
            }
            let rest = wanted.claim.split_off(end - next);
            next += wanted.claim.len();
            if !rest.is_empty() {
                let rest = RingClaim {
                    claim: rest,
                    ..wanted
                };
                self.0.insert(next, rest);
            }
            claims.push(wanted);
        }
        Some(claims)
    }

    /// Returns whether all bytes `at .. end` of the transfer unit are in shared-memory rings.
    fn covers(&self, at: usize, end: usize) -> bool {
        let mut next = at;
        let first = self
            .0
            .range(..=at)
            .next_back()
            .map_or(at, |(begin, _)| *begin);
        for (begin, part) in self.0.range(first..end) {
            if *begin > next {
                break;
            }
            next = next.max(begin + part.claim.len());
        }
        next >= end
    }

    /// Copies the data of the transfer unit that is in the ring of this link, or of all links if
    /// `link` is None, to its position in `bytes`, and releases the claims.
    ///
    /// # Returns
    /// The number of copied bytes.
    pub fn spill(&mut self, link: Option<LinkId>, bytes: &mut [u8]) -> u64 {
        let mut copied = 0;
        self.0.retain(|begin, part| {
            let stays = link.is_some_and(|link| link != part.link);
            if !stays && let Some(room) = bytes.get_mut(*begin..) {
                copied += part.claim.get(0, room) as u64;
            }
            stays
        });
        copied
    }

    /// Returns whether some of the data of the transfer unit (TU) is in the shared-memory ring of this link.
    pub fn lies_on(&self, link: LinkId) -> bool {
        self.0.values().any(|part| part.link == link)
    }
}
