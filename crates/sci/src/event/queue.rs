//! Output queues: the packets that wait to leave an interface, and the slots that packets occupy
//! until they are accepted at the other end.

use super::packets::{Flights, PacketId};
use isthmus_kernel::{Cycles, Id, Table, id};

id! {
    /// Number of an output queue, among those of all interfaces.
    pub(super) struct QueueId;
}

/// Output queues: the waiting packets of each, oldest first, and its slots in use.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    /// For each queue, the cycle from which the oldest waiting packet may leave; `Cycles::MAX` if
    /// none waits.
    pub ready: Table<QueueId, Cycles>,
    pub slots: Table<QueueId, Slots>,
}

/// State of one output queue: its waiting packets, and the number of its slots in use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    pub head: PacketId,
    tail: PacketId,
    /// Number of slots in use: those of packets that wait, and of sent packets that the receiver
    /// has not confirmed with a good echo yet.
    pub held: u32,
    /// Number of slots of the output queue.
    pub limit: u32,
}

impl Slots {
    /// Return whether all slots of the output queue are in use.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.held == self.limit
    }
}

impl Queues {
    /// Return an empty set of output queues.
    pub fn new() -> Self {
        Self {
            ready: Table::from(Vec::new()),
            slots: Table::from(Vec::new()),
        }
    }

    /// Add an output queue with `limit` slots.
    pub fn add(&mut self, limit: u32) {
        self.ready.push(Cycles::MAX);
        self.slots.push(Slots {
            head: PacketId::NONE,
            tail: PacketId::NONE,
            held: 0,
            limit,
        });
    }

    /// Append a packet to a queue. The packet occupies a slot and may leave from cycle `ready` on.
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

    /// Put a packet that must be sent again back into its queue, at the position of its age. All
    /// older waiting packets have been sent before and are ready.
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

    /// Remove the oldest waiting packet of a queue. The slot of the packet stays occupied.
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
