//! Interfaces, their output queues and the links into them.

use super::packets::{Fifo, Flight, NONE};
use crate::traffic::CLASSES;
use isthmus_kernel::Cycles;

/// When something is due: the cycle, its place in the order within the cycle, what it concerns.
pub(super) type Key = u64;

/// Never due.
pub(super) const NEVER: Key = Key::MAX;

/// A packet or an echo arrives where it goes.
pub(super) const TARGET: u64 = 0;
/// A client generates a packet.
pub(super) const CLIENT: u64 = 1;
/// A crossbar looks for a packet to transfer.
pub(super) const CROSSBAR: u64 = 2;
/// An own packet begins to leave.
pub(super) const OWN: u64 = 3;
/// What arrives goes on.
pub(super) const PASS: u64 = 4;

/// A send, its packet's number with it.
pub(super) const SEND: u64 = 0;
/// An echo of an accepted send, the number of the queue that held the packet with it.
pub(super) const GOOD: u64 = 1;
/// An echo of a refused send, its packet's number with it.
pub(super) const BUSY: u64 = 2;

#[inline]
pub(super) fn key(time: Cycles, phase: u64, kind: u64) -> Key {
    time << 5 | phase << 2 | kind
}

#[inline]
pub(super) fn time_of(key: Key) -> Cycles {
    key >> 5
}

#[inline]
pub(super) fn phase_of(key: Key) -> u64 {
    key >> 2 & 7
}

#[inline]
pub(super) fn kind_of(key: Key) -> u64 {
    key & 3
}

/// A header on its way along a link, or an echo that waits for its turn behind a stripped send.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    /// When it arrives, whether it goes on, and its kind.
    pub key: Key,
    /// Number of the packet or the queue.
    pub number: u32,
    /// Links still to go after this one.
    pub left: u16,
    /// Symbols with the idle.
    pub size: u16,
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
    /// The earliest of the three below.
    pub key: Key,
    /// When the next header arrives, or the next echo follows a stripped send.
    pub input: Key,
    /// When an own packet could leave if nothing arrived before.
    pub own: Key,
    /// When the crossbar behind this input is to look for a packet to transfer.
    pub crossbar: Key,
    /// The cycle from which on the output link is free.
    pub free: Cycles,
    /// The earliest cycle in which a packet in an output queue may leave.
    pub ready: Cycles,
    /// The cycle from which on the crossbar behind this input is free.
    pub done: Cycles,
    /// The class of the packet that it transfers or transferred last.
    pub moving: u32,
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
    pub next: u32,
    /// The entries on the link into it, in a circle.
    pub link_head: u32,
    pub link_len: u32,
    /// Packets to be transferred, by class.
    pub inputs: [Fifo; CLASSES],
}

impl Port {
    /// Works out again when an own packet could leave, and what is due first.
    #[inline]
    pub fn refresh_own(&mut self) {
        self.own = if self.waiting == 0 {
            NEVER
        } else {
            key(self.free.max(self.ready), OWN, 0)
        };
        self.refresh();
    }

    #[inline]
    pub fn refresh(&mut self) {
        self.key = self.input.min(self.own).min(self.crossbar);
    }
}
