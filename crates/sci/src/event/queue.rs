//! Output queues.

use super::packets::{Flights, PacketId};
use isthmus_kernel::{Cycles, Id, Table, id};

id! {
    /// An output queue.
    pub(super) struct QueueId;
}

/// Output queues: the waiting packets of each, oldest first, and its slots in use.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    /// Cycle from which the oldest waiting packet of each may leave; `Cycles::MAX` if none waits.
    pub ready: Table<QueueId, Cycles>,
    pub slots: Table<QueueId, Slots>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    pub head: PacketId,
    tail: PacketId,
    /// Number of slots in use: packets that wait, or whose good echo has not come.
    pub held: u32,
    pub limit: u32,
}

impl Slots {
    #[inline]
    pub fn is_full(&self) -> bool {
        self.held == self.limit
    }
}

impl Queues {
    pub fn new() -> Self {
        Self {
            ready: Table::from(Vec::new()),
            slots: Table::from(Vec::new()),
        }
    }

    pub fn add(&mut self, limit: u32) {
        self.ready.push(Cycles::MAX);
        self.slots.push(Slots {
            head: PacketId::NONE,
            tail: PacketId::NONE,
            held: 0,
            limit,
        });
    }

    /// Add the newest packet, which takes a slot and may leave at `ready`.
    #[inline]
    pub fn push(&mut self, queue: QueueId, packet: PacketId, ready: Cycles, flights: &mut Flights) {
        let slots = &mut self.slots[queue];
        flights[packet].next = PacketId::NONE;
        if slots.head == PacketId::NONE {
            slots.head = packet;
            self.ready[queue] = ready;
        } else {
            flights[slots.tail].next = packet;
        }
        slots.tail = packet;
        slots.held += 1;
    }

    /// Put a packet back by its age. All older ones that wait have been sent before and are ready.
    pub fn put_back(&mut self, queue: QueueId, packet: PacketId, flights: &mut Flights) {
        let slots = &mut self.slots[queue];
        let age = flights[packet].age;
        let mut before = PacketId::NONE;
        let mut after = slots.head;
        while after != PacketId::NONE && flights[after].age < age {
            before = after;
            after = flights[after].next;
        }
        flights[packet].next = after;
        if after == PacketId::NONE {
            slots.tail = packet;
        }
        if before == PacketId::NONE {
            slots.head = packet;
            self.ready[queue] = flights[packet].ready;
        } else {
            flights[before].next = packet;
        }
    }

    /// Remove the oldest waiting packet. It keeps its slot.
    #[inline]
    pub fn pop(&mut self, queue: QueueId, flights: &Flights) -> PacketId {
        let slots = &mut self.slots[queue];
        let packet = slots.head;
        slots.head = flights[packet].next;
        self.ready[queue] = if slots.head == PacketId::NONE {
            Cycles::MAX
        } else {
            flights[slots.head].ready
        };
        packet
    }
}
