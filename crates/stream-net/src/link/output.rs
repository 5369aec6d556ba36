//! The half of a link that ranks read: the driver writes to it striping units (SUs) from buffers,
//! and frames without data.

use super::{Drain, LinkEvent, Progress, ResumableDrain};
use crate::frame::{Frame, Kind};
use crate::memory::Memory;
use isthmus_ring::Producer;
use isthmus_stream::{BufferId, OrderId, StreamId};
use isthmus_wire::Moved;
use std::collections::{BTreeMap, VecDeque};
use std::io::IoSlice;
use std::os::fd::{AsFd, BorrowedFd};

/// Maximum number of frames written to a link per call, so that other links are served too.
const TURN: usize = 16;

/// The message for a link whose other end was closed normally.
const CLOSED: &str = "its other end was closed";

/// A frame that is queued to be written to a link.
#[derive(Debug)]
struct Out {
    frame: Frame,
    head: [u8; Frame::BYTES],
    /// The order that delivers the frame, and its buffer. None for a frame without data.
    order: Option<(OrderId, BufferId)>,
    at: usize,
}

impl Out {
    /// Returns the total size of the frame in bytes, header included.
    fn bytes(&self) -> usize {
        self.frame.bytes as usize
    }

    /// Returns whether the frame is a striping unit that did not arrive completely.
    fn is_void(&self) -> bool {
        self.frame.kind == Kind::Void
    }
}

/// The end of a link to which the driver writes.
#[derive(Debug)]
pub(crate) struct Output {
    drain: Drain,
    queue: VecDeque<Out>,
    /// Number of bytes of the first queued frame that were written, header included.
    written: usize,
    /// Zeros to write in place of the data of striping units that did not arrive completely.
    nothing: Vec<u8>,
    /// Whether the rank at the other end was active since the driver last checked that it still
    /// exists.
    pub peer_active: bool,
}

impl Output {
    /// Creates the writing end of a link, without queued frames.
    pub fn new(drain: Drain) -> Self {
        Self {
            drain,
            queue: VecDeque::new(),
            written: 0,
            nothing: Vec::new(),
            peer_active: false,
        }
    }

    /// Queues a frame with a striping unit, whose data begins at byte `at` of the buffer.
    pub fn deliver(&mut self, order: OrderId, frame: Frame, buffer: BufferId, at: u64) {
        let out = Out {
            frame,
            head: frame.encode(),
            order: Some((order, buffer)),
            at: at as usize,
        };
        if out.is_void() && self.nothing.len() < out.bytes() {
            self.nothing.resize(out.bytes(), 0);
        }
        self.queue.push_back(out);
    }

    /// Queues the striping units that were delivered to the link before this writing end existed.
    pub fn queue_undelivered(&mut self, undelivered: &mut Vec<(OrderId, Frame, BufferId, u64)>) {
        for (order, frame, buffer, at) in undelivered.drain(..) {
            self.deliver(order, frame, buffer, at);
        }
    }

    /// Queues a frame without data, such as the end of a stream.
    pub fn mark(&mut self, frame: Frame) {
        self.queue.push_back(Out {
            frame,
            head: frame.encode(),
            order: None,
            at: 0,
        });
    }

    /// Withdraws the order to deliver a striping unit, if no byte of its frame was written. Returns
    /// whether the order was withdrawn.
    pub fn withdraw(&mut self, order: OrderId) -> bool {
        let is_order = |out: &Out| out.order.is_some_and(|(of, _)| of == order);
        match self.queue.iter().position(is_order) {
            Some(index) if index > 0 || self.written == 0 => {
                self.queue.remove(index);
                true
            }
            _ => false,
        }
    }

    /// Returns whether queued frames wait for room in the ring or the socket.
    pub fn waits_for_room(&self) -> bool {
        let more = !self.queue.is_empty();
        match &self.drain {
            Drain::Resumable(resumable) => resumable.waits_for_room(more),
            _ => more,
        }
    }

    /// Returns the writing half of a resumable link. None for other links.
    pub fn resumable(&mut self) -> Option<&mut ResumableDrain> {
        match &mut self.drain {
            Drain::Resumable(resumable) => Some(resumable),
            _ => None,
        }
    }

    /// Returns the file descriptor to poll for room to write. None while the link has no socket.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.drain {
            Drain::Ring(ring) => Some(ring.as_fd()),
            Drain::Socket(socket) => Some(socket.as_fd()),
            Drain::Resumable(resumable) => resumable.socket.as_ref().map(|socket| socket.as_fd()),
        }
    }

    /// Returns whether the link is a ring.
    pub fn is_ring(&self) -> bool {
        matches!(self.drain, Drain::Ring(_))
    }

    /// Prepares the link for a poll of its descriptor. Returns whether the driver may sleep until
    /// the descriptor is ready; if not, the link can be written to now.
    pub fn arm(&mut self) -> bool {
        let front = self.queue.front();
        let remaining = front.map_or(1, |out| Frame::BYTES + out.bytes() - self.written) as u64;
        match &mut self.drain {
            Drain::Ring(ring) => ring
                .arm(remaining.min(ring.capacity() / 2))
                .unwrap_or(false),
            Drain::Socket(_) | Drain::Resumable(_) => true,
        }
    }

    /// Returns the reason, as an error message, if the reader of this ring has left, so that no
    /// rank can read it; otherwise None.
    pub fn left_reason(&mut self) -> Option<String> {
        self.peer_active = false;
        match &mut self.drain {
            Drain::Ring(ring) => put(ring, &[]).map_or_else(Some, |moved| match moved {
                Moved::End => Some(CLOSED.into()),
                _ => None,
            }),
            // Nothing to check: the reading half of a socket detects that the peer has left.
            Drain::Socket(_) | Drain::Resumable(_) => None,
        }
    }

    /// Records that a poll found the link ready for writing.
    pub fn mark_ready(&mut self) {
        self.peer_active = true;
        if let Drain::Ring(ring) = &mut self.drain {
            // Ignore an error here: the next write reports it.
            let _ = ring.mark_ready();
        }
    }

    /// Writes the pending bytes of a resumable link. None if there are none.
    fn flush(&mut self) -> Option<Result<Moved, String>> {
        let resumable = self.resumable()?;
        resumable
            .unconfirmed
            .is_pending()
            .then(|| resumable.flush())
    }

    /// Writes as many queued frames as the link accepts. Returns whether data moved. Counts the
    /// written data in `progress`, and adds errors and completed writes to `events`.
    pub fn advance(
        &mut self,
        memory: &Memory,
        progress: &mut BTreeMap<StreamId, Progress>,
        events: &mut Vec<LinkEvent>,
    ) -> bool {
        let mut any = false;
        for _ in 0..TURN {
            if let Some(moved) = self.flush() {
                match moved {
                    Ok(Moved::Some(_)) => {
                        any = true;
                        continue;
                    }
                    Ok(Moved::None) => return any,
                    Ok(Moved::End) => events.push(LinkEvent::Gone(CLOSED.into())),
                    Err(why) => events.push(LinkEvent::Gone(why)),
                }
                return true;
            }
            let Some(out) = self.queue.front() else {
                return any;
            };
            let data: &[u8] = match out.order {
                Some(_) if out.is_void() => &self.nothing[..out.bytes()],
                Some((_, buffer)) => {
                    let filled = memory.block_bytes(buffer).get(out.at..out.at + out.bytes());
                    filled.unwrap_or(&[])
                }
                None => &[],
            };
            let head = &out.head[self.written.min(Frame::BYTES)..];
            let data = data.get(self.written.saturating_sub(Frame::BYTES)..);
            let data = data.unwrap_or(&[]);
            match write(&mut self.drain, head, data) {
                Ok(Moved::Some(bytes)) => {
                    any = true;
                    self.written += bytes;
                }
                Ok(Moved::None) => return any,
                Ok(Moved::End) => {
                    events.push(LinkEvent::Gone(CLOSED.into()));
                    return true;
                }
                Err(why) => {
                    events.push(LinkEvent::Gone(why));
                    return true;
                }
            }
            if self.written == Frame::BYTES + out.bytes() {
                if let Some((order, _)) = out.order {
                    let progress = progress.entry(out.frame.stream).or_default();
                    progress.add(out.frame.adu, out.frame.bytes.into());
                    events.push(LinkEvent::Over(order));
                }
                self.written = 0;
                self.queue.pop_front();
            }
        }
        any
    }
}

/// Writes as many bytes of a frame's header and data as fit.
fn write(drain: &mut Drain, head: &[u8], data: &[u8]) -> Result<Moved, String> {
    match drain {
        Drain::Resumable(resumable) => Ok(resumable.put(head, data)),
        Drain::Socket(socket) => {
            let parts = [IoSlice::new(head), IoSlice::new(data)];
            socket.write(&parts).map_err(|error| error.to_string())
        }
        Drain::Ring(ring) => {
            let part = if head.is_empty() { data } else { head };
            put(ring, part)
        }
    }
}

/// Writes as many bytes as fit in a ring.
fn put(ring: &mut Producer, bytes: &[u8]) -> Result<Moved, String> {
    match ring.try_write(bytes) {
        Ok(0) => Ok(Moved::None),
        Ok(written) => Ok(Moved::Some(written)),
        Err(isthmus_ring::Error::Closed { .. }) => Ok(Moved::End),
        Err(isthmus_ring::Error::PeerGone { .. }) => Err("its process ended".into()),
        Err(error) => Err(error.to_string()),
    }
}
