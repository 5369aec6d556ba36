//! Output queues.

use super::packets::{Flight, NONE};
use isthmus_kernel::Cycles;

/// Output queues: the packets that wait in each, oldest first, and the slots held.
#[derive(Debug, Clone)]
pub(super) struct Queues {
    /// When the oldest waiting packet of each may leave; `Cycles::MAX` if none waits.
    pub ready: Vec<Cycles>,
    pub slots: Vec<Slots>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slots {
    pub head: u32,
    tail: u32,
    /// Slots held by packets that wait or whose good echo has not come.
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
            ready: Vec::new(),
            slots: Vec::new(),
        }
    }

    pub fn add(&mut self, limit: u32) {
        self.ready.push(Cycles::MAX);
        self.slots.push(Slots {
            head: NONE,
            tail: NONE,
            held: 0,
            limit,
        });
    }

    /// Adds the youngest, which takes a slot and may leave at `ready`.
    #[inline]
    pub fn push(&mut self, queue: usize, packet: u32, ready: Cycles, flights: &mut [Flight]) {
        let slots = &mut self.slots[queue];
        flights[packet as usize].next = NONE;
        if slots.head == NONE {
            slots.head = packet;
            self.ready[queue] = ready;
        } else {
            flights[slots.tail as usize].next = packet;
        }
        slots.tail = packet;
        slots.held += 1;
    }

    /// Puts one back by its age. Whoever is older has been sent before and is ready.
    pub fn put_back(&mut self, queue: usize, packet: u32, flights: &mut [Flight]) {
        let slots = &mut self.slots[queue];
        let age = flights[packet as usize].age;
        let mut before = NONE;
        let mut after = slots.head;
        while after != NONE && flights[after as usize].age < age {
            before = after;
            after = flights[after as usize].next;
        }
        flights[packet as usize].next = after;
        if after == NONE {
            slots.tail = packet;
        }
        if before == NONE {
            slots.head = packet;
            self.ready[queue] = flights[packet as usize].ready;
        } else {
            flights[before as usize].next = packet;
        }
    }

    /// Takes the oldest. It keeps its slot.
    #[inline]
    pub fn pop(&mut self, queue: usize, flights: &[Flight]) -> u32 {
        let slots = &mut self.slots[queue];
        let packet = slots.head;
        slots.head = flights[packet as usize].next;
        self.ready[queue] = if slots.head == NONE {
            Cycles::MAX
        } else {
            flights[slots.head as usize].ready
        };
        packet
    }
}
