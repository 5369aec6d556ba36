//! Data types of the symbol-by-symbol reference engine.

use crate::InterfaceId;
use crate::traffic::{CLASSES, Class};
use isthmus_kernel::{Cycles, Id, id};
use isthmus_topology::rings::Segment;
use std::collections::VecDeque;

id! {
    /// Number of the slot of a packet in the slab of packets.
    pub(super) struct PacketId;
    /// Number of the slot of a subaction (one send of a packet and its echo) in the slab of
    /// subactions.
    pub(super) struct ActionId;
}

/// Kind of a symbol on a link: part of a send packet, part of an echo, or idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// A free idle, which an interface may absorb.
    Idle,
    /// A symbol of a send (a packet on its way to the target of a segment).
    Send,
    /// The idle symbol that follows a send packet.
    SendIdle,
    /// A symbol of an echo (the answer of the target to a send).
    Echo,
    /// The idle symbol that follows an echo.
    EchoIdle,
}

/// One symbol on a link or in a bypass FIFO. It is packed into a word, since the symbol-by-symbol
/// reference engine moves a great number of symbols.
///
/// From the most significant bits, the word has: the number of the subaction (32 bits), the
/// position in the packet (16 bits; the idle has the position after the last symbol), the kind (8
/// bits), and for idles the go bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol(u64);

impl Symbol {
    /// Return a free idle symbol, which belongs to no packet, with this go bit.
    #[inline]
    pub const fn free(go: bool) -> Self {
        Self::new(Kind::Idle, ActionId::NONE, 0).with_go(go)
    }

    /// Return the symbol at `position` in a packet, or the idle symbol after the packet, without go
    /// bit.
    #[inline]
    pub const fn new(kind: Kind, action: ActionId, position: u16) -> Self {
        Self((action.0 as u64) << 32 | (position as u64) << 16 | (kind as u64) << 8)
    }

    /// Return the same symbol with this go bit (flow-control bit).
    #[inline]
    pub const fn with_go(self, go: bool) -> Self {
        Self(self.0 & !1 | go as u64)
    }

    /// Return the kind of this symbol: part of a send packet, part of an echo, or idle.
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

    /// Return the go bit (flow-control bit) of an idle symbol.
    #[inline]
    pub fn go_bit(self) -> bool {
        self.0 & 1 != 0
    }

    /// Return the position of this symbol in its packet.
    #[inline]
    pub fn position(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Return the subaction of the packet to which the symbol belongs.
    #[inline]
    pub fn action(self) -> ActionId {
        ActionId::new((self.0 >> 32) as u32)
    }

    /// Return whether the packet has ended with this symbol, so that another packet may start after
    /// it.
    #[inline]
    pub fn ends_packet(self) -> bool {
        !matches!(self.kind(), Kind::Send | Kind::Echo)
    }
}

/// A packet in flight from the client of its source to the client of its destination.
#[derive(Debug, Clone)]
pub(super) struct Traveller<T> {
    pub tag: T,
    /// Node whose client generated the packet.
    pub node: u32,
    pub class: Class,
    pub symbols: u32,
    pub route: Vec<Segment>,
    /// Index of the present segment of the route.
    pub segment_index: usize,
    pub generated: Cycles,
    /// Cycle in which the packet got a slot of its output queue at the source.
    pub admitted: Cycles,
    /// Cycle in which the header first left the source.
    pub sent: Option<Cycles>,
    pub retries: u32,
}

/// One send of a packet and the echo of that send, on one ring.
#[derive(Debug, Clone)]
pub(super) struct Subaction {
    pub packet: PacketId,
    pub class: Class,
    pub symbols: u16,
    /// The interface that sends the packet and receives the echo.
    pub source: InterfaceId,
    /// The interface at which the packet ends its way on this ring.
    pub target: InterfaceId,
    /// The output queue of the source interface in which the packet is, and the number of the
    /// packet's slot in it.
    pub queue: usize,
    pub slot: u64,
    /// Whether the target has accepted the send packet; `None` before its decision.
    pub accepted: Option<bool>,
}

/// A slot of an output queue, with its packet.
#[derive(Debug, Clone)]
pub(super) struct OutputSlot {
    pub number: u64,
    pub packet: PacketId,
    /// Cycle from which the packet may leave; `None` while the interface waits for its echo.
    pub ready: Option<Cycles>,
    /// The subaction of the last send of the packet, until a busy echo comes.
    pub action: Option<ActionId>,
}

/// Output queue for a packet: the interface, and the number of the queue at this interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exit {
    pub port: usize,
    pub queue: usize,
}

/// A slot of an input queue whose packet waits for the crossbar or is in transfer.
#[derive(Debug, Clone)]
pub(super) struct InputSlot {
    pub packet: PacketId,
    /// The output queue to which the crossbar moves the packet.
    pub exit: Exit,
    pub symbols: u32,
    /// Cycle in which the header of the packet, its first symbol, arrived at this interface.
    pub header: Cycles,
}

/// The packet that a crossbar transfers: the first packet of the queue of a class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    pub class: Class,
    /// Number of symbols that the crossbar must still transfer.
    pub left: u32,
}

/// State of the decoder of an interface, which handles the symbols received from the ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decoder {
    /// Whether the segment of the incoming packet ends at this interface.
    pub ends_here: bool,
    /// Position in the incoming send at which its echo starts.
    pub echo_begins: u16,
    /// Go bit (flow-control bit) of the last incoming idle symbol.
    pub last_go: bool,
    /// Number of incoming symbols of free idles, of sends and of echoes; sends and echoes include
    /// their idles.
    pub symbol_counts: [u64; 3],
}

impl Decoder {
    /// Count an incoming symbol by its kind.
    #[inline]
    pub fn count(&mut self, incoming: Symbol) {
        let kind = match incoming.kind() {
            Kind::Idle => 0,
            Kind::Send | Kind::SendIdle => 1,
            Kind::Echo | Kind::EchoIdle => 2,
        };
        self.symbol_counts[kind] += 1;
    }

    /// Return whether decoding a symbol needs more state: it is the start of a packet or, if the
    /// packet ends at this interface, the start or end of the echo.
    #[inline]
    pub fn is_special(self, incoming: Symbol) -> bool {
        match incoming.kind() {
            Kind::Idle => false,
            Kind::Send if self.ends_here && incoming.position() == self.echo_begins => true,
            Kind::Send | Kind::Echo => incoming.position() == 0,
            Kind::SendIdle | Kind::EchoIdle => self.ends_here,
        }
    }

    /// Return the symbol that the interface forwards in place of an incoming symbol that needs no
    /// further state (see [`Decoder::is_special`]).
    #[inline]
    pub fn replace(&mut self, incoming: Symbol) -> Symbol {
        match incoming.kind() {
            // A set go bit (flow-control bit) is set in all following idles, up to the next packet.
            Kind::Idle => {
                self.last_go |= incoming.go_bit();
                incoming.with_go(self.last_go)
            }
            Kind::SendIdle | Kind::EchoIdle => {
                self.last_go = incoming.go_bit();
                incoming
            }
            _ if !self.ends_here => incoming,
            Kind::Send if incoming.position() >= self.echo_begins => {
                let position = incoming.position() - self.echo_begins;
                Symbol::new(Kind::Echo, incoming.action(), position)
            }
            _ => Symbol::free(self.last_go),
        }
    }
}

/// The receiving side of a ring interface: its input queues and the crossbar, which empties them.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub node: u32,
    /// Number of the interface among the interfaces of its node.
    pub port: usize,
    /// Packets that go on to another ring, by class. A packet in transfer is the first of its
    /// queue.
    pub queues: [VecDeque<InputSlot>; CLASSES],
    /// Number of packets in the input queues of all classes.
    pub count: usize,
    /// Class of the incoming packet for the client. This packet occupies a slot of its class.
    pub for_client: Option<Class>,
    pub crossbar: Option<Transfer>,
}

/// The sending side of a ring interface: its bypass FIFO, its output queues and the packet that it
/// sends.
#[derive(Debug, Clone)]
pub(super) struct Output {
    pub node: u32,
    /// The interface to which the output link leads.
    pub next: InterfaceId,
    /// The packet that the output is sending, if any.
    pub sending: Sending,
    /// Whether the interface has saved a go bit (flow-control bit), which a later idle symbol
    /// releases.
    pub saved_go: bool,
    /// Whether the last symbol that left the interface was an idle with the go bit (flow-control
    /// bit) set.
    pub emitted_go: bool,
    /// Number of packets in the output queues that wait to be sent, not for an echo.
    pub waiting: u32,
    /// Output queue whose turn is next in round-robin order.
    pub turn: usize,
    /// Bypass FIFO: symbols that wait to be forwarded.
    pub bypass: VecDeque<Symbol>,
    /// For each class one queue per interface of the node. The queue at the position of this
    /// interface is for the client.
    pub queues: Vec<Vec<OutputSlot>>,
}

/// The packet that an output is sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sending {
    /// The output sends no packet, so that another packet may start.
    Nothing,
    /// A packet from an output queue of this interface.
    Own {
        action: ActionId,
        /// Position of the next symbol in the packet, and position of the idle after it.
        position: u16,
        last: u16,
    },
    /// A packet that comes over the ring and is forwarded.
    Through,
}

impl Output {
    /// Take in a symbol from the ring, and return the next symbol of the packet that is being sent,
    /// or of the bypass FIFO. `None` if there is neither: the output queues then determine the
    /// symbol.
    #[inline]
    pub fn carry(&mut self, incoming: Symbol) -> Option<Symbol> {
        let symbol = match self.sending {
            Sending::Own {
                action,
                position,
                last,
            } => {
                self.store(incoming);
                self.own_symbol(action, position, last)
            }
            Sending::Nothing if self.bypass.is_empty() => return None,
            Sending::Through if self.bypass.is_empty() => return Some(self.forward(incoming)),
            _ => {
                self.store(incoming);
                let symbol = self.bypass.pop_front().expect("it is not empty");
                self.sending = if symbol.ends_packet() {
                    Sending::Nothing
                } else {
                    Sending::Through
                };
                symbol
            }
        };
        // If no symbol waits in the bypass FIFO behind this idle symbol, it carries the saved go
        // bit away.
        let release = self.sending == Sending::Nothing && self.bypass.is_empty();
        self.emitted_go = release && std::mem::take(&mut self.saved_go);
        Some(symbol.with_go(self.emitted_go))
    }

    /// Return the symbol at `position` of a packet that this interface sends. The idle after the
    /// packet has position `last`.
    pub fn own_symbol(&mut self, action: ActionId, position: u16, last: u16) -> Symbol {
        let ends = position == last;
        self.sending = if ends {
            Sending::Nothing
        } else {
            Sending::Own {
                action,
                position: position + 1,
                last,
            }
        };
        let kind = if ends { Kind::SendIdle } else { Kind::Send };
        Symbol::new(kind, action, position)
    }

    /// Forward an incoming symbol at once.
    pub fn forward(&mut self, incoming: Symbol) -> Symbol {
        self.sending = if incoming.ends_packet() {
            Sending::Nothing
        } else {
            Sending::Through
        };
        self.emitted_go = incoming.go_bit();
        incoming
    }

    /// Store a symbol that cannot be forwarded yet. Absorb free idles and save go bits.
    pub fn store(&mut self, symbol: Symbol) {
        self.saved_go |= symbol.go_bit();
        if symbol.kind() != Kind::Idle {
            self.bypass.push_back(symbol.with_go(false));
        }
    }
}
