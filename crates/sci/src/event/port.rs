//! Interfaces, their output queues and the links into them.

use super::packets::{Fifo, Flight, NONE};
use crate::traffic::CLASSES;
use isthmus_kernel::Cycles;

/// When something is due at a node: the cycle, and its place in the order within the cycle.
pub(super) type Key = u64;

/// Never due.
pub(super) const NEVER: Key = Key::MAX;

/// A send or an echo comes to where it goes.
pub(super) const ARRIVE: u64 = 0;
/// A client generates a packet.
pub(super) const GENERATE: u64 = 1;
/// A crossbar looks for a packet to transfer.
pub(super) const TRANSFER: u64 = 2;

#[inline]
pub(super) fn key(time: Cycles, phase: u64) -> Key {
    time << 2 | phase
}

#[inline]
pub(super) fn time_of(key: Key) -> Cycles {
    key >> 2
}

#[inline]
pub(super) fn phase_of(key: Key) -> u64 {
    key & 3
}

/// What a header is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    /// A send, its packet's number with it.
    #[default]
    Send,
    /// An echo of an accepted send, the number of the queue that held the packet with it.
    Good,
    /// An echo of a refused send, its packet's number with it. Also an echo whose send has not
    /// come to its target yet.
    Busy,
}

/// A header that comes in to be passed on, or the echo that takes the place of a stripped send.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passing {
    pub time: Cycles,
    /// Number of the packet or the queue.
    pub number: u32,
    /// Links still to go, those after this interface.
    pub left: u16,
    /// Links that the echo of a send goes.
    pub back: u16,
    /// Symbols with the idle.
    pub size: u16,
    pub kind: Kind,
}

/// A header that comes to where it goes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Coming {
    pub time: Cycles,
    /// Number of the packet or the queue.
    pub number: u32,
    /// For a send, where its echo waits to be passed on.
    pub echo: u32,
    pub kind: Kind,
}

/// Places in use of a circular buffer, of which each interface has one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Circle {
    head: u32,
    pub len: u32,
}

impl Circle {
    /// The place of entry number `index`.
    #[inline]
    pub fn place(self, index: u32, mask: u32) -> usize {
        ((self.head + index) & mask) as usize
    }

    /// Takes a place at the end.
    #[inline]
    pub fn push(&mut self, mask: u32) -> usize {
        debug_assert!(self.len <= mask, "a link overflows");
        self.len += 1;
        self.place(self.len - 1, mask)
    }

    /// Gives up the first place.
    #[inline]
    pub fn pop(&mut self, mask: u32) {
        self.head = (self.head + 1) & mask;
        self.len -= 1;
    }
}

/// An output queue: the packets that wait in it, oldest first, and the slots held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue {
    /// When the oldest waiting one may leave; `Cycles::MAX` if none waits.
    pub ready: Cycles,
    pub head: u32,
    tail: u32,
    /// Slots held by packets that wait or whose good echo has not come.
    pub held: u32,
    pub slots: u32,
}

impl Queue {
    pub fn new(slots: u32) -> Self {
        Self {
            ready: Cycles::MAX,
            head: NONE,
            tail: NONE,
            held: 0,
            slots,
        }
    }

    /// Adds the youngest.
    #[inline]
    pub fn push(&mut self, packet: u32, flights: &mut [Flight]) {
        flights[packet as usize].next = NONE;
        if self.head == NONE {
            self.head = packet;
            self.ready = flights[packet as usize].ready;
        } else {
            flights[self.tail as usize].next = packet;
        }
        self.tail = packet;
    }

    /// Puts one back by its age. Whoever is older has been sent before and is ready.
    pub fn put_back(&mut self, packet: u32, flights: &mut [Flight]) {
        let age = flights[packet as usize].age;
        let mut before = NONE;
        let mut after = self.head;
        while after != NONE && flights[after as usize].age < age {
            before = after;
            after = flights[after as usize].next;
        }
        flights[packet as usize].next = after;
        if after == NONE {
            self.tail = packet;
        }
        if before == NONE {
            self.head = packet;
            self.ready = flights[packet as usize].ready;
        } else {
            flights[before as usize].next = packet;
        }
    }

    /// Takes the oldest.
    #[inline]
    pub fn pop(&mut self, flights: &[Flight]) -> u32 {
        let packet = self.head;
        self.head = flights[packet as usize].next;
        self.ready = if self.head == NONE {
            Cycles::MAX
        } else {
            flights[self.head as usize].ready
        };
        packet
    }
}

/// An interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Port {
    /// When the node has to look at it next: the earlier of the two below.
    pub key: Key,
    /// When the next header comes that goes no further.
    pub arrival: Key,
    /// When the crossbar behind this input is to look for a packet to transfer.
    pub crossbar: Key,
    /// When the next header comes that is passed on; `Cycles::MAX` if there is none.
    pub pass: Cycles,
    /// When an own packet could leave if nothing came before; `Cycles::MAX` if none waits.
    pub own: Cycles,
    /// The cycle from which on the output link is free.
    pub free: Cycles,
    /// The cycle from which on the crossbar behind this input is free.
    pub done: Cycles,
    /// The class of the packet that it transfers or transferred last.
    pub moving: u32,
    pub passing: Circle,
    pub coming: Circle,
    /// The interface that its output link leads to, and its node.
    pub next: u32,
    pub next_node: u32,
    /// Output queues in which a packet waits, a bit for each.
    pub waiting: u64,
    /// The output queue to be looked at first.
    pub turn: u32,
    /// Its output queues begin with this one: for each class one for each interface of the node,
    /// that in its own place for the client.
    pub queues: u32,
    pub queue_count: u32,
    /// Interfaces of its node.
    pub ports: u32,
    /// Its number among them.
    pub port: u32,
    pub node: u32,
    /// Packets to be transferred, by class.
    pub inputs: [Fifo; CLASSES],
}

impl Port {
    #[inline]
    pub fn refresh(&mut self) {
        self.key = self.arrival.min(self.crossbar);
    }
}
