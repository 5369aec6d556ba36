//! The packets under way, in places that are used again.

use super::queue::QueueId;
use crate::InterfaceId;
use crate::traffic::Class;
use isthmus_kernel::{Cycles, Id, Paths, Slab, Table, id};

id! {
    /// The place of a packet.
    pub(super) struct PacketId;
}

/// Stretches that a route has room for before the first longer one.
const STRIDE_MIN: usize = 4;

/// One stretch of a route.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stretch {
    /// The interface that the packet leaves by.
    pub port: InterfaceId,
    /// Links to go.
    pub hops: u16,
    /// Links that its echo goes, the rest of the ring.
    pub back: u16,
}

/// What moves with a packet: one line of a processor's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Flight {
    /// The next packet in the list that this one is in.
    pub next: PacketId,
    /// The output queue that holds or held it last.
    pub queue: QueueId,
    /// The interface from which it came to that queue: the queue's own one if from the client.
    pub from: InterfaceId,
    /// Its rank by age in that queue.
    pub age: u64,
    /// The earliest cycle in which it may leave.
    pub ready: Cycles,
    /// When its header first left its source; `Cycles::MAX` before.
    pub sent: Cycles,
    /// The stretch that it is on, and its number.
    pub on: Stretch,
    pub stretch: u16,
    pub stretches: u16,
    pub symbols: u16,
    pub class: Class,
    pub retries: u32,
}

/// What is needed at the end only.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<T> {
    pub tag: T,
    pub generated: Cycles,
    pub admitted: Cycles,
}

/// What moves with each packet.
pub(super) type Flights = Slab<PacketId, Flight>;

#[derive(Debug, Clone)]
pub(super) struct Packets<T> {
    pub flights: Flights,
    pub origins: Table<PacketId, Origin<T>>,
    routes: Paths<PacketId, Stretch>,
}

impl<T: Copy> Packets<T> {
    pub fn new() -> Self {
        Self {
            flights: Slab::new(),
            origins: Table::from(Vec::new()),
            routes: Paths::new(STRIDE_MIN),
        }
    }

    /// Adds a packet whose stretches are set by [`Packets::route_mut`].
    #[inline(always)]
    pub fn add(
        &mut self,
        class: Class,
        symbols: u16,
        stretches: usize,
        origin: Origin<T>,
    ) -> PacketId {
        let flight = Flight {
            next: PacketId::NONE,
            queue: QueueId::NONE,
            from: InterfaceId::NONE,
            age: 0,
            ready: 0,
            sent: Cycles::MAX,
            on: Stretch::default(),
            stretch: 0,
            stretches: u16::try_from(stretches).expect("fewer than 2^16 stretches"),
            symbols,
            class,
            retries: 0,
        };
        let packet = self.flights.insert(flight);
        match self.origins.get_mut(packet) {
            Some(place) => *place = origin,
            None => {
                self.origins.push(origin);
            }
        }
        self.routes.make_room(packet, stretches);
        packet
    }

    #[inline]
    pub fn remove(&mut self, packet: PacketId) {
        self.flights.remove(packet);
    }

    #[inline]
    pub fn route_mut(&mut self, packet: PacketId) -> &mut [Stretch] {
        let stretches = usize::from(self.flights[packet].stretches);
        self.routes.of_mut(packet, stretches)
    }

    /// All stretches of `packet`.
    #[inline]
    pub fn route(&self, packet: PacketId) -> &[Stretch] {
        let stretches = usize::from(self.flights[packet].stretches);
        self.routes.of(packet, stretches)
    }

    /// Puts `packet` on its stretch number `stretch`.
    #[inline]
    pub fn put_on(&mut self, packet: PacketId, stretch: u16) {
        let flight = &mut self.flights[packet];
        flight.stretch = stretch;
        flight.on = self.routes.step(packet, stretch.into());
    }
}

/// Packets in the order in which they came.
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
