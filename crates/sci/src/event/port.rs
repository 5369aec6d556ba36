//! Inputs and outputs of interfaces, and the sort keys of their events.

use super::lines::{Kind, Line};
use super::packets::Fifo;
use super::queue::QueueId;
use crate::InterfaceId;
use crate::traffic::{CLASSES, Class};
use isthmus_kernel::{Cycles, Id};

/// Sort key of an event of a node: its cycle and its phase within the cycle.
pub(super) type Key = u64;

/// Sort key that means that no event is scheduled.
pub(super) const NEVER: Key = Key::MAX;

/// Phase of a cycle in which a send or an echo arrives at its destination.
pub(super) const ARRIVE: u64 = 0;
/// Phase of a cycle in which a client generates a packet.
pub(super) const GENERATE: u64 = 1;
/// Phase of a cycle in which a crossbar searches for a packet to transfer.
pub(super) const TRANSFER: u64 = 2;

/// Return the sort key of an event in cycle `time` and in this phase of the cycle.
#[inline]
pub(super) fn key(time: Cycles, phase: u64) -> Key {
    time << 2 | phase
}

/// Return the cycle of the event with this sort key.
#[inline]
pub(super) fn time_of(key: Key) -> Cycles {
    key >> 2
}

/// Return the phase within its cycle of the event with this sort key.
#[inline]
pub(super) fn phase_of(key: Key) -> u64 {
    key & 3
}

/// The node side of an interface: arrivals and the crossbar. A record occupies one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Input {
    /// Sort key (cycle and phase) of the next arrival of a header that ends at this interface.
    pub arrival: Key,
    /// Time (cycle and phase) of the crossbar's next search for a packet to transfer, as a sort
    /// key.
    pub crossbar: Key,
    /// Cycle from which the crossbar behind this input is free.
    pub crossbar_free: Cycles,
    /// Class of the packet that the crossbar transfers or transferred last.
    pub transfer_class: Class,
    /// List of the headers that are on the incoming link and whose packets leave the ring here.
    pub line: Line,
    pub node: u32,
    /// Number of the interface among the interfaces of its node.
    pub port: u16,
    /// Packets that wait for the crossbar, by class.
    pub queues: [Fifo; CLASSES],
}

impl Input {
    /// Return the sort key of the next event of this input.
    #[inline]
    pub fn due(&self) -> Key {
        self.arrival.min(self.crossbar)
    }
}

/// The ring side of an interface: forwarded packets and own packets. A record occupies one cache
/// line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Output {
    /// Cycle in which the next header arrives that this interface must forward; `Cycles::MAX` if
    /// there is none.
    pub pass: Cycles,
    /// Earliest cycle in which an own packet could leave if no header came before; `Cycles::MAX` if
    /// no own packet waits.
    pub own: Cycles,
    /// Cycle from which the outgoing link is free.
    pub free: Cycles,
    /// Headers on the incoming link that this interface forwards.
    pub line: Line,
    /// The interface to which the outgoing link leads.
    pub next: InterfaceId,
    /// Number of the first output queue of this interface. It has one queue for each class and each
    /// interface of the node from which packets come. In the place of this interface itself is the
    /// queue of the client.
    pub queues: QueueId,
    /// Number of output queues of the interface.
    pub queue_count: u32,
    /// Number of the output queue whose turn is next in round-robin order.
    pub turn: u32,
}

/// Counters of the symbols received over the link that leads to an interface.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Received {
    /// Total symbols of all received sends, and of all echoes, each with the idle symbol after it.
    /// The newest packet counts fully, even if it is not completely received yet.
    symbols: [u64; 2],
    /// Cycle after the last symbol of the newest packet.
    end: Cycles,
    /// Kind of the newest packet: 0 for a send, 1 for an echo.
    last_kind: usize,
}

impl Received {
    /// Count the symbols of a packet of `size` symbols whose header arrived at `time`. Packets need
    /// not be counted in the order of their arrival.
    #[inline]
    pub fn count(&mut self, kind: Kind, time: Cycles, size: u16) {
        let kind = usize::from(kind != Kind::Send);
        self.symbols[kind] += u64::from(size);
        let end = time + u64::from(size);
        if end > self.end {
            (self.end, self.last_kind) = (end, kind);
        }
    }

    /// Return the number of symbols of sends, and of echoes, that were received before `now`. The
    /// caller must pass the present cycle.
    pub fn symbols_before(&self, now: Cycles) -> [u64; 2] {
        let mut symbols = self.symbols;
        symbols[self.last_kind] -= self.end.saturating_sub(now);
        symbols
    }

    /// Restart the counters at `now`, which must be the present cycle.
    pub fn restart(&mut self, now: Cycles) {
        self.symbols = [0; 2];
        self.symbols[self.last_kind] = self.end.saturating_sub(now);
    }
}

impl Output {
    /// Return the first cycle in which a packet, forwarded or own, can leave this output.
    #[inline]
    pub fn due(&self) -> Cycles {
        self.pass.min(self.own)
    }

    /// Return the output queue for a packet of class number `class` that comes in by interface
    /// number `from` of the node.
    #[inline]
    pub fn queue(&self, class: usize, from: u32) -> QueueId {
        let queues_per_class = self.queue_count / CLASSES as u32;
        QueueId::new(self.queues.number() + class as u32 * queues_per_class + from)
    }
}
