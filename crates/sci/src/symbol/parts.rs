//! What the reference is made of.

use crate::traffic::{CLASSES, Class};
use isthmus_kernel::Cycles;
use isthmus_topology::rings::Segment;
use std::collections::VecDeque;

/// What a symbol is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: an idle that may be absorbed.
    Idle,
    /// A send, or the idle that follows it.
    Send,
    /// An echo, or the idle that follows it.
    Echo,
}

/// One symbol on a link or in a bypass FIFO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol {
    pub kind: Kind,
    /// Whether it is an idle: a free one, or that which follows a packet.
    pub idle: bool,
    /// For idles: whether whoever lets it go on may send.
    pub go: bool,
    /// Its place in the packet; the idle that follows comes after the last.
    pub place: u16,
    /// Number of the subaction; none for a free idle.
    pub action: u32,
}

impl Symbol {
    /// What is on the links at the beginning.
    pub const FIRST: Self = Self::free(true);

    /// A free idle.
    pub const fn free(go: bool) -> Self {
        Self {
            kind: Kind::Idle,
            idle: true,
            go,
            place: 0,
            action: u32::MAX,
        }
    }
}

/// A numbered collection whose places are used again.
#[derive(Debug, Clone)]
pub(super) struct Places<V> {
    values: Vec<Option<V>>,
    free: Vec<u32>,
}

impl<V> Places<V> {
    pub fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    pub fn add(&mut self, value: V) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.values[number as usize] = Some(value);
                number
            }
            None => {
                self.values.push(Some(value));
                self.values.len() as u32 - 1
            }
        }
    }

    pub fn remove(&mut self, number: u32) -> V {
        self.free.push(number);
        self.values[number as usize].take().expect("still there")
    }

    pub fn get(&self, number: u32) -> &V {
        self.values[number as usize].as_ref().expect("still there")
    }

    pub fn get_mut(&mut self, number: u32) -> &mut V {
        self.values[number as usize].as_mut().expect("still there")
    }

    pub fn iter(&self) -> impl Iterator<Item = &V> {
        self.values.iter().flatten()
    }
}

/// A packet on its way from client to client.
#[derive(Debug, Clone)]
pub(super) struct Traveller<T> {
    pub tag: T,
    pub node: u32,
    pub class: Class,
    pub symbols: u32,
    pub route: Vec<Segment>,
    /// The stretch that it is on.
    pub stretch: usize,
    pub generated: Cycles,
    pub admitted: Cycles,
    pub sent: Option<Cycles>,
    pub retries: u32,
}

/// One send and its echo, on one ring.
#[derive(Debug, Clone)]
pub(super) struct Subaction {
    pub packet: u32,
    pub class: Class,
    pub symbols: u16,
    /// The interface that sends and waits for the echo.
    pub source: u32,
    pub target: u32,
    /// The output queue of the source that holds the packet, and the slot's number.
    pub queue: usize,
    pub slot: u64,
    /// What the target has decided; nothing yet at first.
    pub accepted: Option<bool>,
}

/// A slot of an output queue.
#[derive(Debug, Clone)]
pub(super) struct OutputSlot {
    pub number: u64,
    pub packet: u32,
    /// When the packet may leave; `None` while its echo is awaited.
    pub ready: Option<Cycles>,
    pub action: Option<u32>,
}

/// Where a packet leaves its node: the interface, and the number of the queue there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exit {
    pub port: usize,
    pub queue: usize,
}

/// A slot of an input queue that waits for the crossbar or is being emptied by it.
#[derive(Debug, Clone)]
pub(super) struct InputSlot {
    pub packet: u32,
    pub exit: Exit,
    pub symbols: u32,
    /// When the first symbol came.
    pub header: Cycles,
    /// Symbols that have gone through the crossbar; `None` before the first may.
    pub moved: Option<u32>,
}

/// The decoder of an interface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decoder {
    /// Whether the packet that comes in is for this interface.
    pub mine: bool,
    /// The place of the first symbol of the send that comes in which the echo takes.
    pub echo_begins: u16,
    /// The go bit of the idle that came last.
    pub came_go: bool,
}

/// The side of an interface that faces its node.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub node: u32,
    /// Its number among the interfaces of its node.
    pub port: usize,
    /// Transit packets, by class; those in transfer first.
    pub queues: [VecDeque<InputSlot>; CLASSES],
    /// The packets in these queues.
    pub count: usize,
    /// A packet for the client that comes in holds a slot of its class.
    pub for_client: Option<Class>,
    /// The class that the crossbar serves.
    pub crossbar: Option<Class>,
}

/// The side of an interface that faces the ring.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub node: u32,
    pub next: u32,
    /// What it is in the middle of.
    pub sending: Option<Sending>,
    /// A go bit has come and is kept back.
    pub saved_go: bool,
    /// The symbol that left last was an idle with its go bit set.
    pub emitted_go: bool,
    /// Packets in the queues that do not await an echo.
    pub waiting: u32,
    pub turn: usize,
    /// Symbols that wait to go on.
    pub bypass: VecDeque<Symbol>,
    /// For each class one queue for each interface of the node, that in its own place for the
    /// client.
    pub queues: Vec<Vec<OutputSlot>>,
}

/// What an output is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sending {
    /// An own packet: the symbol that comes next, and the place of the idle.
    Own(Symbol, u16),
    /// Something that passes through.
    Through,
}
