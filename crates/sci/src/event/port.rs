//! Interfaces: their inputs, their outputs, and the keys by which they are served.

use super::lines::{Kind, Line};
use super::packets::Fifo;
use super::queue::QueueId;
use crate::InterfaceId;
use crate::traffic::{CLASSES, Class};
use isthmus_kernel::{Cycles, Id};

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

/// The side of an interface that faces its node: arrivals and the crossbar. One line of a
/// processor's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Input {
    /// When the next header comes that goes no further.
    pub arrival: Key,
    /// When the crossbar is to look for a packet to transfer.
    pub crossbar: Key,
    /// The cycle from which on the crossbar is free.
    pub done: Cycles,
    /// The class of the packet that it transfers or transferred last.
    pub moving: Class,
    /// Headers on their way here that go no further.
    pub line: Line,
    pub node: u32,
    /// Its number among the interfaces of its node.
    pub port: u16,
    /// Packets to be transferred, by class.
    pub queues: [Fifo; CLASSES],
}

impl Input {
    #[inline]
    pub fn due(&self) -> Key {
        self.arrival.min(self.crossbar)
    }
}

/// The side of an interface that faces the ring: what passes through, and what starts here. One
/// line of a processor's cache.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Output {
    /// When the next header comes that is passed on; `Cycles::MAX` if there is none.
    pub pass: Cycles,
    /// When an own packet could leave if nothing came before; `Cycles::MAX` if none waits.
    pub own: Cycles,
    /// The cycle from which on the link is free.
    pub free: Cycles,
    /// Headers on their way here that are passed on.
    pub line: Line,
    /// The interface that the link leads to.
    pub next: InterfaceId,
    /// Its queues begin with this one: for each class one for each interface of the node, that in
    /// its own place for the client.
    pub queues: QueueId,
    pub queue_count: u32,
    /// The queue to be looked at first.
    pub turn: u32,
}

/// What has come over the link that leads to an interface.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Came {
    /// Symbols of sends, and of echoes, with their idles. That which came last is in as a whole.
    symbols: [u64; 2],
    /// The cycle after its last symbol, and its kind.
    until: Cycles,
    last: usize,
}

impl Came {
    /// A header has come of something of `size` symbols. Those of one window come in any order.
    #[inline]
    pub fn count(&mut self, kind: Kind, time: Cycles, size: u16) {
        let kind = usize::from(kind != Kind::Send);
        self.symbols[kind] += u64::from(size);
        let until = time + u64::from(size);
        if until > self.until {
            (self.until, self.last) = (until, kind);
        }
    }

    /// Symbols of sends and of echoes that have come before `now`, which is when it is asked.
    pub fn before(&self, now: Cycles) -> [u64; 2] {
        let mut symbols = self.symbols;
        symbols[self.last] -= self.until.saturating_sub(now);
        symbols
    }

    /// Restarts the counters at `now`.
    pub fn restart(&mut self, now: Cycles) {
        self.symbols = [0; 2];
        self.symbols[self.last] = self.until.saturating_sub(now);
    }
}

impl Output {
    /// The first cycle in which there is something to do.
    #[inline]
    pub fn due(&self) -> Cycles {
        self.pass.min(self.own)
    }

    /// The queue for a packet of class number `class` that comes in by interface number `from` of
    /// the node.
    #[inline]
    pub fn queue(&self, class: usize, from: u32) -> QueueId {
        let places = self.queue_count / CLASSES as u32;
        QueueId::new(self.queues.number() + class as u32 * places + from)
    }
}
