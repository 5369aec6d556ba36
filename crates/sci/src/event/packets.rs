//! The packets in flight, in a slab (a vector with reused slots).

use super::queue::QueueId;
use crate::InterfaceId;
use crate::traffic::Class;
use isthmus_kernel::{Cycles, Id, Paths, Slab, Table, id};

id! {
    /// Number of the slot of a packet in [`Packets`].
    pub(super) struct PacketId;
}

/// Initial number of segments for which each packet has room. A longer route increases it.
const STRIDE_MIN: usize = 4;

/// A segment of a route, with the interface at which it starts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RouteSegment {
    /// The interface by which the packet leaves the node at the start of the segment.
    pub port: InterfaceId,
    /// Number of links of the segment.
    pub hops: u16,
    /// Number of links that the echo of a send in this segment crosses: the rest of the ring.
    pub back: u16,
}

/// State of a packet in flight that every event reads. It occupies one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Flight {
    /// The next packet in the same FIFO or output queue.
    pub next: PacketId,
    /// The output queue in which the packet is, or was last.
    pub queue: QueueId,
    /// The interface from which the packet came to its output queue; for a packet of the client,
    /// the interface of the output queue itself.
    pub from: InterfaceId,
    /// Number that orders the packets of an output queue by age; the oldest packet has the lowest.
    pub age: u64,
    /// The earliest cycle in which the packet may leave its output queue.
    pub ready: Cycles,
    /// Cycle in which the packet's header first left its source; `Cycles::MAX` before that.
    pub sent: Cycles,
    /// The present segment of the route, and its number.
    pub current: RouteSegment,
    pub segment: u16,
    pub segments: u16,
    pub symbols: u16,
    pub class: Class,
    pub retries: u32,
}

/// Where a packet in flight comes from: the tag of its message, and the cycles in which it was
/// generated and admitted to a queue. Used only when the packet is generated or delivered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<T> {
    pub tag: T,
    pub generated: Cycles,
    pub admitted: Cycles,
}

/// The state [`Flight`] of each packet in flight, by the slot of the packet.
pub(super) type Flights = Slab<PacketId, Flight>;

/// All packets in flight, and their routes.
#[derive(Debug, Clone)]
pub(super) struct Packets<T> {
    pub flights: Flights,
    pub origins: Table<PacketId, Origin<T>>,
    routes: Paths<PacketId, RouteSegment>,
}

impl<T: Copy> Packets<T> {
    /// Return a store without packets.
    pub fn new() -> Self {
        Self {
            flights: Slab::new(),
            origins: Table::from(Vec::new()),
            routes: Paths::new(STRIDE_MIN),
        }
    }

    /// Add a packet in flight. The caller must then set its segments by [`Packets::route_mut`].
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

    /// Remove a packet and free its slot.
    #[inline]
    pub fn remove(&mut self, packet: PacketId) {
        self.flights.remove(packet);
    }

    /// Return the segments of a packet, which the caller sets after [`Packets::add`].
    #[inline]
    pub fn route_mut(&mut self, packet: PacketId) -> &mut [RouteSegment] {
        let segments = usize::from(self.flights[packet].segments);
        self.routes.of_mut(packet, segments)
    }

    /// Return all segments of the route of `packet`.
    #[inline]
    pub fn route(&self, packet: PacketId) -> &[RouteSegment] {
        let segments = usize::from(self.flights[packet].segments);
        self.routes.of(packet, segments)
    }

    /// Make segment number `segment` of its route the present segment of `packet`.
    #[inline]
    pub fn set_segment(&mut self, packet: PacketId, segment: u16) {
        let flight = &mut self.flights[packet];
        flight.segment = segment;
        flight.current = self.routes.step(packet, segment.into());
    }
}

/// A FIFO of packets: a linked list through the field `next` of the packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    pub head: PacketId,
    tail: PacketId,
    /// Number of packets in the FIFO.
    pub len: u32,
}

impl Default for Fifo {
    /// Return an empty FIFO.
    fn default() -> Self {
        Self {
            head: PacketId::NONE,
            tail: PacketId::NONE,
            len: 0,
        }
    }
}

impl Fifo {
    /// Append a packet to the FIFO.
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

    /// Remove the first packet of the FIFO.
    #[inline]
    pub fn pop(&mut self, flights: &Flights) {
        self.head = flights[self.head].next;
        self.len -= 1;
    }
}
