//! Packets as UDP datagrams, to the peer's manager. This module paces the datagrams. The headers of
//! packets carry sequence numbers, with which the manager repairs losses or reports them, according
//! to the connection's protocol.

use super::Incoming;
use crate::error::Error;
use crate::memory::Memory;
use crate::sum::Sum;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{Offer, OrderId, PacketId};
use isthmus_wire::connect_udp;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, sockopt};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Maximum number of queued headers without data, such as acknowledgements.
const CONTROLS_MAX: usize = 64;
/// Maximum size of a packet's data in bytes: that of a datagram less the header.
pub(crate) const DATA_MAX: u64 = 65_507 - Header::BYTES as u64;
/// Maximum number of datagrams sent or read per call, so that other connections are served too.
const TURN: usize = 64;
/// Requested size of the socket's receive buffer in bytes. The system may grant less.
const KEPT: usize = 4 << 20;
/// Interval at which the first header is repeated until the peer sends a datagram. The peer may not
/// have started yet, or the header may have been lost.
const REPEAT_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum delay of datagrams that pacing makes up for by sending the next ones sooner.
const SLACK: Duration = Duration::from_millis(2);

/// A datagram that is queued to be sent.
#[derive(Debug)]
struct Out {
    head: [u8; Header::BYTES],
    order: Option<OrderId>,
    packet: PacketId,
    bytes: usize,
}

/// The first header of a connection, which is repeated until the peer has sent something.
#[derive(Debug)]
enum First {
    None,
    Repeated([u8; Header::BYTES], Instant),
    PeerActive,
}

/// A UDP socket that carries packets.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: OwnedFd,
    checksum: Checksum,
    queue: VecDeque<Out>,
    /// Rate in bytes per second if the connection is paced. `next_at` is the time of the next
    /// datagram.
    rate: Option<u64>,
    next_at: Instant,
    /// The first header, which is repeated until the peer sends a datagram, and the time of its
    /// next repetition.
    first: First,
    room: Vec<u8>,
    /// Number of received datagrams that are not packets, or whose length does not match their
    /// header.
    pub malformed: u64,
}

impl Datagrams {
    /// Connects a UDP socket to an address.
    pub fn connect(to: SocketAddr, rate: Option<u64>, checksum: Checksum) -> Result<Self, Error> {
        let refused = |error| Error::system(format!("a socket to {to}"), error);
        let socket = connect_udp(to).map_err(refused)?;
        Ok(Self::new(socket, rate, checksum))
    }

    /// Creates the transport over a UDP socket that is already connected.
    pub fn from_socket(socket: UdpSocket, checksum: Checksum) -> Self {
        Self::new(socket.into(), None, checksum)
    }

    /// Creates the transport over a connected socket.
    fn new(socket: OwnedFd, rate: Option<u64>, checksum: Checksum) -> Self {
        // Ignore an error: with a smaller buffer more datagrams are lost, and losses are repaired
        // or reported.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, KEPT);
        let _ = sockopt::set_socket_send_buffer_size(&socket, KEPT);
        Self {
            socket,
            checksum,
            queue: VecDeque::new(),
            rate,
            next_at: Instant::now(),
            first: First::None,
            room: vec![0; 1 << 16],
            malformed: 0,
        }
    }

    /// Returns the descriptor to poll.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Queues a packet to be sent.
    pub fn send(&mut self, order: OrderId, packet: PacketId, header: &Header) {
        self.queue.push_back(Out {
            head: header.encode(),
            order: Some(order),
            packet,
            bytes: header.bytes as usize,
        });
    }

    /// Queues a header without data before queued packets, because it is small and the peer waits
    /// for it.
    pub fn control(&mut self, header: &Header) {
        if matches!(self.first, First::None) {
            // The repeated header is a probe, because the peer replies to it: a lost reply causes
            // another repetition.
            let mut probe = *header;
            probe.kind = Kind::Probe;
            self.first = First::Repeated(probe.encode(), Instant::now() + REPEAT_INTERVAL);
        }
        self.queue_header(header.encode());
    }

    /// Queues a header before the packets. If the peer sends requests faster than the answers can
    /// be sent, newer answers replace older ones.
    fn queue_header(&mut self, head: [u8; Header::BYTES]) {
        let out = Out {
            head,
            order: None,
            packet: PacketId(0),
            bytes: 0,
        };
        let mut first = self.queue.iter().take(CONTROLS_MAX);
        let full = self.queue.len() >= CONTROLS_MAX && first.all(|out| out.order.is_none());
        match self.queue.front_mut().filter(|_| full) {
            Some(newest) => *newest = out,
            None => self.queue.push_front(out),
        }
    }

    /// Returns whether the transport waits for room in the socket, and not for its pacing.
    pub fn wants_write(&self) -> bool {
        !self.queue.is_empty() && (self.rate.is_none() || self.next_at <= Instant::now())
    }

    /// Returns the time at which the transport must act: that of the next paced datagram or of the
    /// next repetition.
    pub fn deadline(&self) -> Option<Instant> {
        let next = (self.rate.is_some() && !self.queue.is_empty()).then_some(self.next_at);
        let again = match self.first {
            First::Repeated(_, at) => Some(at),
            First::None | First::PeerActive => None,
        };
        next.into_iter().chain(again).min()
    }

    /// Sends the queued datagrams that pacing allows now. Returns whether anything was sent.
    ///
    /// # Errors
    /// The connection is lost; the text says why.
    pub fn write(&mut self, memory: &Memory, over: &mut Vec<OrderId>) -> Result<bool, String> {
        if let First::Repeated(head, at) = self.first
            && at <= Instant::now()
        {
            self.first = First::Repeated(head, Instant::now() + REPEAT_INTERVAL);
            self.queue_header(head);
        }
        for turn in 0..TURN {
            let Some(out) = self.queue.front() else {
                return Ok(turn > 0);
            };
            let now = Instant::now();
            if self.rate.is_some() && now < self.next_at {
                return Ok(turn > 0);
            }
            let data = if out.bytes == 0 {
                &[][..]
            } else {
                memory.packet(out.packet)
            };
            let data = data
                .get(..out.bytes)
                .ok_or("a packet is not where it was stored")?;
            let parts = [IoSlice::new(&out.head), IoSlice::new(data)];
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let mut none = SendAncillaryBuffer::default();
            match rustix::net::sendmsg(&self.socket, &parts, &mut none, flags) {
                // A refused datagram counts as lost, like a datagram that the network drops.
                Ok(_) | Err(Errno::CONNREFUSED) => {}
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(turn > 0),
                Err(error) => return Err(error.to_string()),
            }
            if let Some(rate) = self.rate {
                let bytes = (Header::BYTES + out.bytes) as u64;
                let takes = Duration::from_nanos(bytes.saturating_mul(1_000_000_000) / rate);
                let begin = now.checked_sub(SLACK).unwrap_or(now);
                self.next_at = self.next_at.max(begin) + takes;
            }
            over.extend(out.order);
            self.queue.pop_front();
        }
        Ok(true)
    }

    /// Reads datagrams and passes them to the manager. Returns whether there were any.
    ///
    /// # Errors
    /// The connection is lost; the text says why.
    pub fn read(&mut self, incoming: &mut Incoming<'_>) -> Result<bool, String> {
        for turn in 0..TURN {
            let len = match rustix::net::recv(&self.socket, &mut self.room, RecvFlags::DONTWAIT) {
                Ok((len, _)) => len,
                Err(Errno::INTR | Errno::CONNREFUSED) => continue,
                Err(Errno::AGAIN) => return Ok(turn > 0),
                Err(error) => return Err(error.to_string()),
            };
            let came = &self.room[..len];
            let header = Header::decode(came).ok();
            let data = came.get(Header::BYTES..).unwrap_or(&[]);
            let Some(header) = header.filter(|header| header.bytes as usize == data.len()) else {
                self.malformed += 1;
                continue;
            };
            self.first = First::PeerActive;
            if let Offer::Take(packet) = incoming.offer(&header) {
                let mut sum = Sum::new(self.checksum);
                incoming.memory.allocate(packet, data.len());
                if let Some(block) = incoming.memory.packet_mut(packet) {
                    block.bytes[..data.len()].copy_from_slice(data);
                    sum.add(&block.bytes[..data.len()]);
                }
                incoming.arrived(packet, sum.word());
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that newer answers replace waiting ones: a peer that sends requests faster than a
    /// paced connection answers must not fill memory, and queued data must keep its position.
    #[test]
    fn answers_that_wait_are_replaced_by_newer_ones() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = peer.local_addr().unwrap();
        let mut datagrams = Datagrams::connect(to, Some(1_000_000), Checksum::None).unwrap();
        let mut header = Header::new(Kind::Acknowledge, 0);
        datagrams.send(OrderId(0), PacketId(0), &header);
        for acknowledged in 0..100_000 {
            header.acknowledged = acknowledged;
            datagrams.control(&header);
        }
        assert_eq!(datagrams.queue.len(), CONTROLS_MAX + 1);
        assert_eq!(datagrams.queue[0].head, header.encode());
        assert!(datagrams.queue[CONTROLS_MAX].order.is_some());
    }
}
