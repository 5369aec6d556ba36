//! Packets as datagrams of UDP, to the peer's manager: sequenced by their headers, paced here, and
//! repaired or reported as lost by the manager, as the connection's protocol says.

use crate::error::Error;
use crate::memory::Memory;
use crate::sum::Sum;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::{Header, Kind};
use isthmus_stream::{ConnectionId, Manager, Offer, OrderId, PacketId};
use isthmus_wire::connect_udp;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, sockopt};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Headers without data that wait to be sent, at most.
const CONTROLS_MAX: usize = 64;
/// Bytes of data of a packet at most: what a datagram carries, without the header.
pub(crate) const MOST: u64 = 65_507 - Header::BYTES as u64;
/// Datagrams that one look sends or reads at most.
const TURN: usize = 64;
/// What the system is asked to keep of datagrams that nobody has read. It may give less.
const KEPT: usize = 4 << 20;
/// After how long what the peer has to know first is said again, as long as nothing has come from it: it may not have
/// been there yet, or that may have been lost.
const AGAIN: Duration = Duration::from_millis(100);
/// How far pacing may fall behind before what was missed is not made up for.
const SLACK: Duration = Duration::from_millis(2);

#[derive(Debug)]
struct Out {
    head: [u8; Header::BYTES],
    order: Option<OrderId>,
    packet: PacketId,
    bytes: usize,
}

/// What is said again until the peer has said something.
#[derive(Debug)]
enum First {
    None,
    Said([u8; Header::BYTES], Instant),
    Heard,
}

/// A UDP socket that carries packets.
#[derive(Debug)]
pub(crate) struct Datagrams {
    socket: OwnedFd,
    checksum: Checksum,
    queue: VecDeque<Out>,
    /// Bytes per second, if it is paced, and when the next datagram may go.
    rate: Option<u64>,
    next_at: Instant,
    /// The first header, and when it is sent again; none once something has come.
    first: First,
    room: Vec<u8>,
    /// Datagrams that are no packets, or not as long as they say.
    pub malformed: u64,
}

impl Datagrams {
    /// A socket that is connected to an address.
    pub fn connect(to: SocketAddr, rate: Option<u64>, checksum: Checksum) -> Result<Self, Error> {
        let refused = |error| Error::system(format!("a socket to {to}"), error);
        let socket = connect_udp(to).map_err(refused)?;
        Ok(Self::new(socket, rate, checksum))
    }

    /// A socket that was made and connected elsewhere.
    pub fn given(socket: UdpSocket, checksum: Checksum) -> Self {
        Self::new(socket.into(), None, checksum)
    }

    fn new(socket: OwnedFd, rate: Option<u64>, checksum: Checksum) -> Self {
        // Less than that costs datagrams, which are repaired or told to be lost.
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

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub fn send(&mut self, order: OrderId, packet: PacketId, header: &Header) {
        self.queue.push_back(Out {
            head: header.encode(),
            order: Some(order),
            packet,
            bytes: header.bytes as usize,
        });
    }

    /// Queues a header, before data: it is small, and waited for.
    pub fn control(&mut self, header: &Header) {
        if matches!(self.first, First::None) {
            // The peer replies to a probe, so a lost reply is repeated too.
            let mut probe = *header;
            probe.kind = Kind::Probe;
            self.first = First::Said(probe.encode(), Instant::now() + AGAIN);
        }
        self.say(header.encode());
    }

    /// Puts a header before the data. A peer that asks faster than answers can be sent gets the newest.
    fn say(&mut self, head: [u8; Header::BYTES]) {
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

    /// Whether it waits for the socket, and not for its own pace.
    pub fn wants_write(&self) -> bool {
        !self.queue.is_empty() && (self.rate.is_none() || self.next_at <= Instant::now())
    }

    /// When the next datagram may go, if one waits for that, or something is said again.
    pub fn deadline(&self) -> Option<Instant> {
        let next = (self.rate.is_some() && !self.queue.is_empty()).then_some(self.next_at);
        let again = match self.first {
            First::Said(_, at) => Some(at),
            First::None | First::Heard => None,
        };
        next.into_iter().chain(again).min()
    }

    /// Sends what may be sent; whether anything was.
    ///
    /// # Errors
    /// Why the connection is lost, in words.
    pub fn write(&mut self, memory: &Memory, over: &mut Vec<OrderId>) -> Result<bool, String> {
        if let First::Said(head, at) = self.first
            && at <= Instant::now()
        {
            self.first = First::Said(head, Instant::now() + AGAIN);
            self.say(head);
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
                // That nobody was there for an earlier one is a loss like others.
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

    /// Reads what has come and gives it to the manager; whether anything had.
    ///
    /// # Errors
    /// Why the connection is lost, in words.
    pub fn read(
        &mut self,
        now: isthmus_stream::Instant,
        id: ConnectionId,
        manager: &mut Manager,
        memory: &mut Memory,
    ) -> Result<bool, String> {
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
            self.first = First::Heard;
            if let Offer::Take(packet) = manager.offer(now, id, &header) {
                let mut sum = Sum::new(self.checksum);
                memory.place(packet, data.len());
                if let Some(block) = memory.packet_mut(packet) {
                    block.bytes[..data.len()].copy_from_slice(data);
                    sum.add(&block.bytes[..data.len()]);
                }
                manager.handle_arrived(now, packet, Some(sum.word()));
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A peer that asks faster than a paced connection answers does not fill memory, and data that waits
    /// stays in its place.
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
