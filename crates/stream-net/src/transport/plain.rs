//! Plain bytes over TCP, to any program that reads them, and from any program that sends them
//! ([`plain_receive`] divides received bytes into ADUs).
//!
//! [`plain_receive`]: super::plain_receive
//!
//! The data of all streams of the connection follow one another without headers. A packet is done
//! when the peer's system has acknowledged all its bytes: the program there may not have read them
//! yet. No packet is reported as done while its data is in the memory of this machine.
//! Unacknowledged packets fail when the connection is lost.

use super::Incoming;
use super::plain_receive::{Expected, PlainReceive};
use crate::claims::write_claim;
use crate::memory::{Data, Memory};
use isthmus_stream::{OrderId, PacketId, StreamId};
use isthmus_wire::{Moved, Socket, Unacknowledged};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::time::{self, Duration};

/// Shortest and longest interval between two checks of acknowledgements. The interval doubles, so
/// that a check is late by at most the time waited so far.
const CHECK_INTERVAL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(512));
/// Maximum number of packets that one system call writes.
const BATCH: usize = 16;

/// A packet that is queued to be sent.
#[derive(Debug)]
struct Out {
    order: OrderId,
    packet: PacketId,
    bytes: usize,
}

/// A connection that carries plain bytes over a socket.
#[derive(Debug)]
pub(crate) struct Plain {
    pub socket: Socket,
    queue: VecDeque<Out>,
    /// Number of bytes of the first queued packet that were written to the socket.
    front: usize,
    /// Total number of bytes written to the socket.
    written: u64,
    /// Packets that were written but not acknowledged by the peer's system, each with the position
    /// of its end, counted in bytes from the start of the connection.
    unconfirmed: VecDeque<(OrderId, u64)>,
    unacknowledged: Option<Unacknowledged>,
    check_at: Option<time::Instant>,
    pause: Duration,
    /// State of dividing received bytes into application data units. None if the connection only
    /// sends.
    receive: Option<PlainReceive>,
    /// Number of bytes that the peer sent although the connection only sends; they are discarded.
    pub ignored: u64,
}

impl Plain {
    /// Creates the transport for plain bytes over a connected socket. `channel` is the channel
    /// number, if the connection also receives.
    pub fn new(socket: Socket, channel: Option<u32>) -> Self {
        Self {
            socket,
            receive: channel.map(PlainReceive::new),
            queue: VecDeque::new(),
            front: 0,
            written: 0,
            unconfirmed: VecDeque::new(),
            unacknowledged: None,
            check_at: None,
            pause: CHECK_INTERVAL.0,
            ignored: 0,
        }
    }

    /// Queues a packet whose data is to be sent.
    pub fn send(&mut self, order: OrderId, packet: PacketId, bytes: u32) {
        self.queue.push_back(Out {
            order,
            packet,
            bytes: bytes as usize,
        });
    }

    /// Returns whether no data can move before a poll finds the socket ready. False if received
    /// data waits for room in memory.
    pub fn is_blocked(&self, now: time::Instant) -> bool {
        self.receive.is_none() && self.check_at.is_none_or(|at| now < at)
    }

    /// Returns whether the connection divides received bytes into application data units. Otherwise
    /// it only reads them to detect the end.
    pub fn receives(&self) -> bool {
        self.receive.is_some()
    }

    /// Returns whether packets wait to be written to the socket.
    pub fn wants_write(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns the time of the next check of the peer's acknowledgements.
    pub fn deadline(&self) -> Option<time::Instant> {
        self.check_at
    }

    /// Writes as much as the socket accepts, and checks acknowledgements. Returns whether data
    /// moved. Written data leaves the manager's memory, as the system has a copy.
    ///
    /// # Errors
    /// The reason for which the connection is lost.
    pub fn write(&mut self, memory: &mut Memory, over: &mut Vec<OrderId>) -> Result<bool, String> {
        let mut any = false;
        while let Some(front) = self.queue.front() {
            let moved = match memory.data(front.packet) {
                // Nothing to write: an end mark has no data.
                _ if front.bytes == 0 => Moved::Some(0),
                Data::Here(_) => self.write_batch(memory)?,
                Data::InRings(claims) => match claims.at(self.front) {
                    Some((claim, at)) => {
                        let moved = write_claim(&self.socket, claim, at);
                        moved.map_err(|error| error.to_string())?
                    }
                    None => return Err("a packet is not where it was stored".into()),
                },
            };
            let bytes = match moved {
                Moved::None => break,
                Moved::End => return Err("the other side closed it".into()),
                Moved::Some(bytes) => bytes,
            };
            any = true;
            self.front += bytes;
            while let Some(out) = self.queue.front().filter(|out| out.bytes <= self.front) {
                self.front -= out.bytes;
                self.written += out.bytes as u64;
                self.unconfirmed.push_back((out.order, self.written));
                memory.free(out.packet);
                self.queue.pop_front();
            }
        }
        if any {
            // Check again soon: the peer accepts bytes, so acknowledgements are likely.
            self.check_soon();
        }
        Ok(any | self.check_acknowledged(over)?)
    }

    /// Writes the first queued packets in one call, up to a packet whose data is in rings. Returns
    /// the number of bytes that the socket accepted.
    fn write_batch(&self, memory: &Memory) -> Result<Moved, String> {
        let mut parts = [IoSlice::new(&[]); BATCH];
        let mut from = self.front;
        let mut used = 0;
        for out in self.queue.iter().take(BATCH) {
            let data = match memory.data(out.packet) {
                _ if out.bytes == 0 => &[],
                Data::Here(data) => data,
                Data::InRings(_) => break,
            };
            let data = data.get(from..out.bytes);
            parts[used] = IoSlice::new(data.ok_or("a packet is not where it was stored")?);
            used += 1;
            from = 0;
        }
        let moved = self.socket.write(&parts[..used]);
        moved.map_err(|error| error.to_string())
    }

    /// Sets the next check of acknowledgements to the shortest interval from now.
    fn check_soon(&mut self) {
        self.pause = CHECK_INTERVAL.0;
        let soon = time::Instant::now() + CHECK_INTERVAL.0;
        self.check_at = self.check_at.map(|at| at.min(soon));
    }

    /// Checks which bytes the peer has acknowledged, if a check is due. Returns whether packets are
    /// done.
    fn check_acknowledged(&mut self, over: &mut Vec<OrderId>) -> Result<bool, String> {
        if self.unconfirmed.is_empty() {
            self.check_at = None;
            self.pause = CHECK_INTERVAL.0;
            return Ok(false);
        }
        let now = time::Instant::now();
        let at = *self.check_at.get_or_insert(now);
        if now < at {
            return Ok(false);
        }
        let kept = self.unacknowledged()?;
        let known = (self.written + self.front as u64).saturating_sub(kept);
        let mut any = false;
        while let Some((order, _)) = self.unconfirmed.front().filter(|(_, end)| *end <= known) {
            over.push(*order);
            self.unconfirmed.pop_front();
            any = true;
        }
        self.pause = if any {
            CHECK_INTERVAL.0
        } else {
            (self.pause * 2).min(CHECK_INTERVAL.1)
        };
        self.check_at = Some(now + self.pause);
        Ok(any)
    }

    /// Checks which bytes are acknowledged after the peer closed the connection. Bytes that the
    /// system does not report as acknowledged count as lost.
    pub fn check_at_end(&mut self, over: &mut Vec<OrderId>) {
        self.check_at = None;
        let _ = self.check_acknowledged(over);
    }

    /// Returns the number of written bytes that the peer has not acknowledged.
    fn unacknowledged(&mut self) -> Result<u64, String> {
        let asked = match &mut self.unacknowledged {
            Some(asked) => asked,
            none => none.insert(Unacknowledged::of(&self.socket).map_err(no_answer)?),
        };
        asked.bytes().map_err(|error| match error.kind() {
            ErrorKind::NotFound => "the system knows the connection no more".into(),
            _ => no_answer(error),
        })
    }

    /// Returns whether the driver should poll for received bytes.
    pub fn wants_read(&self, expects: &VecDeque<Expected>) -> bool {
        let receive = self.receive.as_ref();
        receive.is_none_or(|receive| receive.wants_read(expects))
    }

    /// Reads bytes for streams that expect them. If the connection only sends, reads to detect its
    /// end. Returns whether bytes arrived. `moved` returns the number of application data units
    /// that the ranks of a stream have received.
    ///
    /// # Errors
    /// The reason for which the connection is lost.
    pub fn read(
        &mut self,
        incoming: &mut Incoming<'_>,
        expects: &mut VecDeque<Expected>,
        moved: &dyn Fn(StreamId) -> Option<u64>,
    ) -> Result<bool, String> {
        if let Some(receive) = &mut self.receive {
            return receive.read(&self.socket, incoming, expects, moved);
        }
        let mut waste = [0; 16 << 10];
        match self
            .socket
            .read(&mut waste)
            .map_err(|error| error.to_string())?
        {
            Moved::Some(bytes) => {
                self.ignored += bytes as u64;
                Ok(true)
            }
            Moved::None => Ok(false),
            Moved::End => Err("the other side closed it".into()),
        }
    }
}

/// Returns the text of an error: why the kernel does not report which bytes the peer has
/// acknowledged.
fn no_answer(error: io::Error) -> String {
    format!("the system does not say what is acknowledged (NETLINK_SOCK_DIAG: {error})")
}
