//! A connection that carries packets over a stream socket such as TCP. At the other end is the
//! peer's manager, or a program that only receives (a sink).

use super::Incoming;
use crate::claims::{Claims, write_claim};
use crate::memory::{Data, Memory};
use crate::sum::Sum;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{Offer, OrderId, PacketId};
use isthmus_wire::{Moved, Socket};
use std::collections::VecDeque;
use std::io::IoSlice;

/// Maximum number of bytes read from a socket per call.
const TURN: usize = 1 << 20;
/// Number of bytes of a packet that are read at a time. Then their checksum is computed while they
/// are still in the L2 cache.
const STEP: usize = 128 << 10;
/// Maximum number of packets that one system call writes.
const BATCH: usize = 16;
/// Number of reads that are skipped after a read that found no bytes. A sleeping driver polls the
/// socket; skipping saves system calls while the driver is busy with other connections.
const SKIPPED: u32 = 7;

/// A packet that is queued to be sent.
#[derive(Debug)]
struct Out {
    head: [u8; Header::BYTES],
    kind: Kind,
    order: Option<OrderId>,
    packet: PacketId,
    bytes: usize,
}

/// A packet whose data is being received.
#[derive(Debug)]
struct Reading {
    packet: PacketId,
    bytes: usize,
    done: usize,
    summed: usize,
    sum: Sum,
}

/// A connection that carries packets over a stream socket.
#[derive(Debug)]
pub(crate) struct Framed {
    pub socket: Socket,
    checksum: Checksum,
    queue: VecDeque<Out>,
    /// Number of bytes of the first queued packet that were written, header included.
    written: usize,
    head: [u8; Header::BYTES],
    got: usize,
    /// The header of a packet for which the manager has no room yet.
    waiting: Option<Header>,
    reading: Option<Reading>,
    /// Number of bytes of an unwanted packet that are still to be skipped.
    skip: u64,
    /// Number of reads that are still to be skipped because the socket was empty.
    skipped: u32,
}

impl Framed {
    /// Creates the transport over a connected socket.
    pub fn new(socket: Socket, checksum: Checksum) -> Self {
        Self {
            socket,
            checksum,
            queue: VecDeque::new(),
            written: 0,
            head: [0; Header::BYTES],
            got: 0,
            waiting: None,
            reading: None,
            skip: 0,
            skipped: 0,
        }
    }

    /// Queues a packet to be sent.
    pub fn send(&mut self, order: OrderId, packet: PacketId, header: &Header) {
        self.queue.push_back(Out {
            head: header.encode(),
            kind: header.kind,
            order: Some(order),
            packet,
            bytes: header.bytes as usize,
        });
    }

    /// Queues a header without data to be sent. A newer acknowledgement replaces an older one that
    /// is not written yet. It precedes queued packets, because the peer waits for the window that
    /// it grants.
    pub fn control(&mut self, header: &Header) {
        let out = Out {
            head: header.encode(),
            kind: header.kind,
            order: None,
            packet: PacketId(0),
            bytes: 0,
        };
        let first = usize::from(self.written > 0);
        let waiting = self.queue.get(first);
        let alike = waiting.is_some_and(|it| it.order.is_none() && it.kind == out.kind);
        match out.kind {
            Kind::Acknowledge if alike => self.queue[first] = out,
            Kind::Acknowledge => self.queue.insert(first.min(self.queue.len()), out),
            _ => self.queue.push_back(out),
        }
    }

    /// Returns whether packets wait to be written to the socket.
    pub fn wants_write(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Returns whether packets can be read. False while a received packet waits for room in memory.
    pub fn wants_read(&self) -> bool {
        self.waiting.is_none()
    }

    /// Returns whether no data can move before a poll finds the socket ready. False if a received
    /// packet waits for room in memory.
    pub fn is_blocked(&self) -> bool {
        self.waiting.is_none()
    }

    /// Writes as many queued bytes as the socket accepts. Returns whether data moved, and appends
    /// completed orders to `over`.
    ///
    /// # Errors
    /// The reason for which the connection is lost.
    pub fn write(&mut self, memory: &Memory, over: &mut Vec<OrderId>) -> Result<bool, String> {
        let mut any = false;
        while let Some(front) = self.queue.front() {
            let moved = match memory.data(front.packet) {
                Data::InRings(claims) if front.bytes > 0 => {
                    write_claims(&self.socket, &front.head, claims, self.written)?
                }
                _ => self.write_batch(memory)?,
            };
            match moved {
                Moved::None => return Ok(any),
                Moved::End => return Err("the peer closed it".into()),
                Moved::Some(bytes) => self.written += bytes,
            }
            any = true;
            while let Some(front) = self.queue.front() {
                let whole = Header::BYTES + front.bytes;
                if self.written < whole {
                    break;
                }
                self.written -= whole;
                over.extend(front.order);
                self.queue.pop_front();
            }
        }
        Ok(any)
    }

    /// Writes as many bytes of the queued packets as the socket accepts, but stops before the first
    /// packet whose data is in rings in shared memory.
    fn write_batch(&mut self, memory: &Memory) -> Result<Moved, String> {
        let mut parts = [IoSlice::new(&[]); 2 * BATCH];
        let mut from = self.written;
        let mut used = 0;
        for out in self.queue.iter().take(BATCH) {
            let data = match memory.data(out.packet) {
                _ if out.bytes == 0 => &[],
                Data::Here(data) => data,
                Data::InRings(_) => break,
            };
            let data = data
                .get(..out.bytes)
                .ok_or("a packet is not where it was stored")?;
            parts[used] = IoSlice::new(&out.head[from.min(Header::BYTES)..]);
            parts[used + 1] = IoSlice::new(&data[from.saturating_sub(Header::BYTES)..]);
            used += 2;
            from = 0;
        }
        let moved = self.socket.write(&parts[..used]);
        moved.map_err(|error| error.to_string())
    }

    /// Reads packets and passes them to the manager. Returns whether data moved.
    ///
    /// # Errors
    /// The reason for which the connection is lost.
    pub fn read(&mut self, incoming: &mut Incoming<'_>) -> Result<bool, String> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(false);
        }
        let mut remaining = TURN;
        let mut any = false;
        while remaining > 0 {
            let moved = if self.skip > 0 {
                self.skip_bytes()?
            } else if self.reading.is_some() {
                self.read_data(incoming)?
            } else if let Some(header) = self.waiting.take() {
                if !self.offer(header, incoming) {
                    return Ok(any);
                }
                any = true;
                continue;
            } else {
                self.read_head()?
            };
            match moved {
                Moved::Some(bytes) => {
                    any = true;
                    remaining = remaining.saturating_sub(bytes);
                }
                Moved::None => {
                    self.skipped = SKIPPED;
                    return Ok(any);
                }
                Moved::End if self.reading.is_some() || self.skip > 0 || self.got > 0 => {
                    return Err("the peer closed it in mid-packet".into());
                }
                Moved::End => return Err("the peer closed it".into()),
            }
        }
        Ok(any)
    }

    /// Offers a received packet to the manager. Returns false if the packet has to wait for room.
    fn offer(&mut self, header: Header, incoming: &mut Incoming<'_>) -> bool {
        match incoming.offer(&header) {
            Offer::Take(packet) => {
                let bytes = header.bytes as usize;
                incoming.memory.allocate(packet, bytes);
                self.reading = Some(Reading {
                    packet,
                    bytes,
                    done: 0,
                    summed: 0,
                    sum: Sum::new(self.checksum),
                });
            }
            Offer::Taken => {}
            Offer::Drop(_) => self.skip = u64::from(header.bytes),
            Offer::Later => {
                self.waiting = Some(header);
                return false;
            }
        }
        true
    }

    /// Reads the header of the next packet.
    fn read_head(&mut self) -> Result<Moved, String> {
        let moved = read(&self.socket, &mut self.head[self.got..])?;
        if let Moved::Some(bytes) = moved {
            self.got += bytes;
        }
        if self.got == Header::BYTES {
            self.got = 0;
            // An invalid header ends the connection, because the position of the next header is
            // unknown.
            let header = Header::decode(&self.head);
            let header = header.map_err(|why| format!("what the peer sends is no packet: {why}"));
            self.waiting = Some(header?);
        }
        Ok(moved)
    }

    /// Reads data of the current packet into its slot in network memory.
    fn read_data(&mut self, incoming: &mut Incoming<'_>) -> Result<Moved, String> {
        let Some(it) = &mut self.reading else {
            return Ok(Moved::None);
        };
        let Some(block) = incoming.memory.packet_mut(it.packet) else {
            // Skip the rest of the packet: the manager released it while its data arrived.
            self.skip = (it.bytes - it.done) as u64;
            self.reading = None;
            return Ok(Moved::None);
        };
        let end = it.bytes.min(it.summed + STEP);
        let moved = read(&self.socket, &mut block.bytes[it.done..end])?;
        let Moved::Some(bytes) = moved else {
            return Ok(moved);
        };
        it.done += bytes;
        if it.done == end {
            it.sum.add(&block.bytes[it.summed..end]);
            it.summed = end;
        }
        if it.done == it.bytes {
            let (packet, sum) = (it.packet, it.sum.word());
            self.reading = None;
            incoming.arrived(packet, sum);
        }
        Ok(moved)
    }

    /// Reads and discards bytes of an unwanted packet.
    fn skip_bytes(&mut self) -> Result<Moved, String> {
        let mut waste = [0; 16 << 10];
        let most = self.skip.min(waste.len() as u64) as usize;
        let moved = read(&self.socket, &mut waste[..most])?;
        if let Moved::Some(bytes) = moved {
            self.skip -= bytes as u64;
        }
        Ok(moved)
    }

    /// Records that a poll found the socket ready.
    pub fn mark_ready(&mut self) {
        self.skipped = 0;
    }

    /// Prepares to close the connection: drops the queued packets, but keeps headers without data.
    /// Returns false if a packet is partly written and can therefore not be completed.
    pub fn leave(&mut self) -> bool {
        let whole = self.written == 0 || self.queue.front().is_some_and(|out| out.order.is_none());
        self.queue.retain(|out| out.order.is_none());
        whole
    }

    /// After closing: reads and drops the peer's data, so that the system does not discard sent
    /// data by resetting the connection. Returns whether the peer has closed it.
    pub fn drain(&mut self) -> bool {
        let mut waste = [0; 16 << 10];
        for _ in 0..64 {
            match self.socket.read(&mut waste) {
                Ok(Moved::Some(_)) => {}
                Ok(Moved::None) => return false,
                Ok(Moved::End) | Err(_) => return true,
            }
        }
        false
    }
}

/// Reads bytes from a socket without waiting.
fn read(socket: &Socket, bytes: &mut [u8]) -> Result<Moved, String> {
    socket.read(bytes).map_err(|error| error.to_string())
}

/// Writes a header and then its data from rings, as many bytes as the socket accepts. The first
/// `from` bytes of both together were written before and are skipped.
fn write_claims(
    socket: &Socket,
    head: &[u8],
    claims: &Claims,
    from: usize,
) -> Result<Moved, String> {
    let mut written = 0;
    loop {
        let from = from + written;
        let moved = if from < head.len() {
            let moved = socket.write_more(&head[from..]);
            moved.map_err(|error| error.to_string())?
        } else if let Some((claim, at)) = claims.at(from - head.len()) {
            let moved = write_claim(socket, claim, at);
            moved.map_err(|error| error.to_string())?
        } else {
            Moved::None
        };
        match moved {
            Moved::Some(bytes) => written += bytes,
            Moved::None if written > 0 => return Ok(Moved::Some(written)),
            other => return Ok(other),
        }
    }
}
