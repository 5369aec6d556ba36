//! What the reference is made of.

use crate::InterfaceId;
use crate::traffic::{CLASSES, Class};
use isthmus_kernel::{Cycles, Id, id};
use isthmus_topology::rings::Segment;
use std::collections::VecDeque;

id! {
    /// The place of a packet.
    pub(super) struct PacketId;
    /// The place of a subaction.
    pub(super) struct ActionId;
}

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A free idle, which may be absorbed.
    Idle,
    /// Part of a send.
    Send,
    /// The idle that follows a send.
    SendIdle,
    /// Part of an echo.
    Echo,
    /// The idle that follows an echo.
    EchoIdle,
}

/// One symbol on a link or in a bypass FIFO, packed into a word: so many of them are moved.
///
/// From the top: the number of the subaction (32 bits), the place in the packet (16 bits; the idle
/// that follows comes after the last), the kind (8 bits), and for idles whether the part that lets it go
/// on may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol(u64);

impl Symbol {
    /// A free idle.
    #[inline]
    pub const fn free(go: bool) -> Self {
        Self::new(Kind::Idle, ActionId::NONE, 0).with_go(go)
    }

    /// A symbol without go bit.
    #[inline]
    pub const fn new(kind: Kind, action: ActionId, place: u16) -> Self {
        Self((action.0 as u64) << 32 | (place as u64) << 16 | (kind as u64) << 8)
    }

    #[inline]
    pub const fn with_go(self, go: bool) -> Self {
        Self(self.0 & !1 | go as u64)
    }

    #[inline]
    pub fn kind(self) -> Kind {
        match self.0 >> 8 & 0xFF {
            0 => Kind::Idle,
            1 => Kind::Send,
            2 => Kind::SendIdle,
            3 => Kind::Echo,
            _ => Kind::EchoIdle,
        }
    }

    #[inline]
    pub fn go(self) -> bool {
        self.0 & 1 != 0
    }

    #[inline]
    pub fn place(self) -> u16 {
        (self.0 >> 16) as u16
    }

    #[inline]
    pub fn action(self) -> ActionId {
        ActionId::new((self.0 >> 32) as u32)
    }

    /// Whether something else may leave after it.
    #[inline]
    pub fn ends(self) -> bool {
        !matches!(self.kind(), Kind::Send | Kind::Echo)
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
    pub packet: PacketId,
    pub class: Class,
    pub symbols: u16,
    /// The interface that sends and waits for the echo.
    pub source: InterfaceId,
    pub target: InterfaceId,
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
    pub packet: PacketId,
    /// When the packet may leave; `None` while its echo is awaited.
    pub ready: Option<Cycles>,
    pub action: Option<ActionId>,
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
    pub packet: PacketId,
    pub exit: Exit,
    pub symbols: u32,
    /// When the first symbol came.
    pub header: Cycles,
}

/// What a crossbar is in the middle of: the first packet of a class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub class: Class,
    /// Symbols that have not gone through yet.
    pub left: u32,
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
    /// Symbols that came: free idles, those of sends, and those of echoes, with their idles.
    pub counted: [u64; 3],
}

impl Decoder {
    #[inline]
    pub fn count(&mut self, came: Symbol) {
        let kind = match came.kind() {
            Kind::Idle => 0,
            Kind::Send | Kind::SendIdle => 1,
            Kind::Echo | Kind::EchoIdle => 2,
        };
        self.counted[kind] += 1;
    }

    /// Whether a symbol begins a packet, or for one that is for this interface is where its echo
    /// begins or ends.
    #[inline]
    pub fn is_special(self, came: Symbol) -> bool {
        match came.kind() {
            Kind::Idle => false,
            Kind::Send if self.mine && came.place() == self.echo_begins => true,
            Kind::Send | Kind::Echo => came.place() == 0,
            Kind::SendIdle | Kind::EchoIdle => self.mine,
        }
    }

    /// What goes on in place of a symbol that is not special.
    #[inline]
    pub fn carry(&mut self, came: Symbol) -> Symbol {
        match came.kind() {
            // Go bits are extended over free idles and what is stripped, to the next packet.
            Kind::Idle => {
                self.came_go |= came.go();
                came.with_go(self.came_go)
            }
            Kind::SendIdle | Kind::EchoIdle => {
                self.came_go = came.go();
                came
            }
            _ if !self.mine => came,
            Kind::Send if came.place() >= self.echo_begins => {
                let place = came.place() - self.echo_begins;
                Symbol::new(Kind::Echo, came.action(), place)
            }
            _ => Symbol::free(self.came_go),
        }
    }
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
    pub crossbar: Option<Transfer>,
}

/// The side of an interface that faces the ring.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub node: u32,
    pub next: InterfaceId,
    /// What it is in the middle of.
    pub sending: Sending,
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
    /// Nothing: another packet may start.
    Nothing,
    /// An own packet.
    Own {
        action: ActionId,
        /// The place of the symbol that comes next, and that of the idle.
        place: u16,
        last: u16,
    },
    /// Something that passes through.
    Through,
}

impl Output {
    /// The next symbol, if that is settled without looking at the queues: if a packet is on its
    /// way out or something waits in the bypass FIFO.
    #[inline]
    pub fn carry(&mut self, incoming: Symbol) -> Option<Symbol> {
        let symbol = match self.sending {
            Sending::Own {
                action,
                place,
                last,
            } => {
                self.store(incoming);
                self.own(action, place, last)
            }
            Sending::Nothing if self.bypass.is_empty() => return None,
            Sending::Through if self.bypass.is_empty() => return Some(self.pass(incoming)),
            _ => {
                self.store(incoming);
                let symbol = self.bypass.pop_front().expect("it is not empty");
                self.sending = if symbol.ends() {
                    Sending::Nothing
                } else {
                    Sending::Through
                };
                symbol
            }
        };
        // What was kept back is let go with the idle after which nothing waits.
        let release = self.sending == Sending::Nothing && self.bypass.is_empty();
        self.emitted_go = release && std::mem::take(&mut self.saved_go);
        Some(symbol.with_go(self.emitted_go))
    }

    /// A symbol of an own packet.
    pub fn own(&mut self, action: ActionId, place: u16, last: u16) -> Symbol {
        let ends = place == last;
        self.sending = if ends {
            Sending::Nothing
        } else {
            Sending::Own {
                action,
                place: place + 1,
                last,
            }
        };
        let kind = if ends { Kind::SendIdle } else { Kind::Send };
        Symbol::new(kind, action, place)
    }

    /// Lets go on at once what comes in.
    pub fn pass(&mut self, incoming: Symbol) -> Symbol {
        self.sending = if incoming.ends() {
            Sending::Nothing
        } else {
            Sending::Through
        };
        self.emitted_go = incoming.go();
        incoming
    }

    /// Keeps a symbol that cannot go on yet. Free idles are absorbed, go bits kept back.
    pub fn store(&mut self, symbol: Symbol) {
        self.saved_go |= symbol.go();
        if symbol.kind() != Kind::Idle {
            self.bypass.push_back(symbol.with_go(false));
        }
    }
}
