//! The packets in flight, in a slab.

use super::queue::QueueId;
use crate::InterfaceId;
use crate::traffic::Class;
use isthmus_kernel::{Cycles, Id, Paths, Slab, Table, id};

id! {
    /// The slot of a packet.
    pub(super) struct PacketId;
}

/// Number of segments for which routes have room before the first longer one.
const STRIDE_MIN: usize = 4;

/// A segment of a route, resolved to an interface.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RouteSegment {
    /// The interface by which the packet leaves its node.
    pub port: InterfaceId,
    /// Number of links of the segment.
    pub hops: u16,
    /// Number of links for the echo: the rest of the ring.
    pub back: u16,
}

/// State of a packet that events use: one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Flight {
    /// The next packet in the same list.
    pub next: PacketId,
    /// The output queue that holds it or held it last.
    pub queue: QueueId,
    /// The interface from which it came to that queue: that of the queue itself if from the client.
    pub from: InterfaceId,
    /// Its rank by age in that queue.
    pub age: u64,
    /// The earliest cycle in which it may leave.
    pub ready: Cycles,
    /// Cycle in which its header first left its source; `Cycles::MAX` before.
    pub sent: Cycles,
    /// The present segment and its number.
    pub current: RouteSegment,
    pub segment: u16,
    pub segments: u16,
    pub symbols: u16,
    pub class: Class,
    pub retries: u32,
}

/// State of a packet that is used at generation and delivery only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<T> {
    pub tag: T,
    pub generated: Cycles,
    pub admitted: Cycles,
}

/// State of all packets.
pub(super) type Flights = Slab<PacketId, Flight>;

#[derive(Debug, Clone)]
pub(super) struct Packets<T> {
    pub flights: Flights,
    pub origins: Table<PacketId, Origin<T>>,
    routes: Paths<PacketId, RouteSegment>,
}

impl<T: Copy> Packets<T> {
    pub fn new() -> Self {
        Self {
            flights: Slab::new(),
            origins: Table::from(Vec::new()),
            routes: Paths::new(STRIDE_MIN),
        }
    }

    /// Add a packet. [`Packets::route_mut`] then sets its segments.
    #[inline(always)]
    pub fn add(
        &mut self,
        class: Class,
        symbols: u16,
        segments: usize,
        origin: Origin<T>,
    ) -> PacketId {
        let flight = Flight {
            next: PacketId::NONE,
            queue: QueueId::NONE,
            from: InterfaceId::NONE,
            age: 0,
            ready: 0,
            sent: Cycles::MAX,
            current: RouteSegment::default(),
            segment: 0,
            segments: u16::try_from(segments).expect("fewer than 2^16 stretches"),
            symbols,
            class,
            retries: 0,
        };
        let packet = self.flights.insert(flight);
        match self.origins.get_mut(packet) {
            Some(slot) => *slot = origin,
            None => {
                self.origins.push(origin);
            }
        }
        self.routes.make_room(packet, segments);
        packet
    }

    #[inline]
    pub fn remove(&mut self, packet: PacketId) {
        self.flights.remove(packet);
    }

    #[inline]
    pub fn route_mut(&mut self, packet: PacketId) -> &mut [RouteSegment] {
        let segments = usize::from(self.flights[packet].segments);
        self.routes.of_mut(packet, segments)
    }

    /// Return all segments of `packet`.
    #[inline]
    pub fn route(&self, packet: PacketId) -> &[RouteSegment] {
        let segments = usize::from(self.flights[packet].segments);
        self.routes.of(packet, segments)
    }

    /// Move `packet` to its segment number `segment`.
    #[inline]
    pub fn set_segment(&mut self, packet: PacketId, segment: u16) {
        let flight = &mut self.flights[packet];
        flight.segment = segment;
        flight.current = self.routes.step(packet, segment.into());
    }
}

/// A FIFO of packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    pub head: PacketId,
    tail: PacketId,
    pub len: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self {
            head: PacketId::NONE,
            tail: PacketId::NONE,
            len: 0,
        }
    }
}

impl Fifo {
    #[inline]
    pub fn push(&mut self, packet: PacketId, flights: &mut Flights) {
        flights[packet].next = PacketId::NONE;
        if self.len == 0 {
            self.head = packet;
        } else {
            flights[self.tail].next = packet;
        }
        self.tail = packet;
        self.len += 1;
    }

    #[inline]
    pub fn pop(&mut self, flights: &Flights) {
        self.head = flights[self.head].next;
        self.len -= 1;
    }
}
