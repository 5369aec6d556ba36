//! The packets under way, in places that are used again.

use crate::traffic::Class;
use isthmus_kernel::{Cycles, Paths, Slab};

/// No packet.
pub(super) const NONE: u32 = u32::MAX;

/// Stretches that a route has room for before the first longer one.
const STRIDE_MIN: usize = 4;

/// One stretch of a route.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stretch {
    /// The interface that the packet leaves by.
    pub port: u32,
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
    pub next: u32,
    /// The output queue that holds or held it last.
    pub queue: u32,
    /// The interface from which it came to that queue: the queue's own one if from the client.
    pub from: u32,
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

#[derive(Debug, Clone)]
pub(super) struct Packets<T> {
    pub flights: Slab<Flight>,
    /// By the places of the flights.
    pub origins: Vec<Origin<T>>,
    routes: Paths<Stretch>,
}

impl<T: Copy> Packets<T> {
    pub fn new() -> Self {
        Self {
            flights: Slab::new(),
            origins: Vec::new(),
            routes: Paths::new(STRIDE_MIN),
        }
    }

    pub fn clear(&mut self) {
        self.flights.clear();
        self.origins.clear();
        self.routes.clear();
    }

    /// Adds a packet whose stretches are set by [`Packets::route_mut`].
    #[inline]
    pub fn add(&mut self, class: Class, symbols: u16, stretches: usize, origin: Origin<T>) -> u32 {
        let flight = Flight {
            next: NONE,
            queue: NONE,
            from: NONE,
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
        match self.origins.get_mut(packet as usize) {
            Some(place) => *place = origin,
            None => self.origins.push(origin),
        }
        self.routes.make_room(packet, stretches);
        packet
    }

    #[inline]
    pub fn remove(&mut self, packet: u32) {
        self.flights.remove(packet);
    }

    #[inline]
    pub fn route_mut(&mut self, packet: u32) -> &mut [Stretch] {
        let stretches = usize::from(self.flights[packet].stretches);
        self.routes.of_mut(packet, stretches)
    }

    /// All stretches of `packet`.
    #[inline]
    pub fn route(&self, packet: u32) -> &[Stretch] {
        let stretches = usize::from(self.flights[packet].stretches);
        self.routes.of(packet, stretches)
    }

    /// Puts `packet` on its stretch number `stretch`.
    #[inline]
    pub fn put_on(&mut self, packet: u32, stretch: u16) {
        let flight = &mut self.flights[packet];
        flight.stretch = stretch;
        flight.on = self.routes.step(packet, stretch.into());
    }
}

/// Packets in the order in which they came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    pub head: u32,
    tail: u32,
    pub len: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }
}

impl Fifo {
    #[inline]
    pub fn push(&mut self, packet: u32, flights: &mut [Flight]) {
        flights[packet as usize].next = NONE;
        if self.len == 0 {
            self.head = packet;
        } else {
            flights[self.tail as usize].next = packet;
        }
        self.tail = packet;
        self.len += 1;
    }

    #[inline]
    pub fn pop(&mut self, flights: &[Flight]) {
        self.head = flights[self.head as usize].next;
        self.len -= 1;
    }
}
