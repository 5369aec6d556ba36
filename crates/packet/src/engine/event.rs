//! Events, and their order within a tick: reports to the handler first, then requests of packets.

use super::packets::PacketId;
use isthmus_kernel::Id;

/// A simulation event, packed into a 64-bit word: its kind, its rank among events of that kind, and
/// its subject, such as a packet or node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u64);

/// Kinds of events, in the order in which the engine handles them within a tick. The kinds from
/// `Arrive` on are requests, which the engine serves together at the end of the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The tail of a packet arrives. Order among such events of a tick: its last link. Subject: the
    /// packet.
    Deliver,
    /// A reminder that the handler requested is due. Order among such events of a tick: its node.
    Remind,
    /// A message is generated. Order among such events of a tick: its node.
    Generate,
    /// The DMA of a message may start. Order among such events of a tick: the node of the message.
    /// Subject: the queue of the message, or the number of queues for the reply to a read.
    Start,
    /// The header of a packet requests an output link. The subject of the event is the packet.
    Arrive,
    /// A resource for which headers wait becomes free. The subject of the event is the group of
    /// outputs.
    Wake,
    /// A node may inject packets into the network. The subject of the event is the node.
    Inject,
    /// A resource for which packets in an output buffer wait becomes free. The subject of the event
    /// is the link of the buffer.
    Send,
}

/// Number of bits for the rank (the order among events of one kind) in the 64-bit word of an event.
const RANK_BITS: u32 = 28;

impl Event {
    /// Create an event from its kind, its rank and its subject: see [`Kind`].
    #[inline]
    pub fn new(kind: Kind, rank: u32, subject: u32) -> Self {
        debug_assert!(rank < 1 << RANK_BITS);
        Self((kind as u64) << 60 | u64::from(rank) << 32 | u64::from(subject))
    }

    /// Return the kind of the event.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.0 >> 60 {
            0 => Kind::Deliver,
            1 => Kind::Remind,
            2 => Kind::Generate,
            3 => Kind::Start,
            4 => Kind::Arrive,
            5 => Kind::Wake,
            6 => Kind::Inject,
            _ => Kind::Send,
        }
    }

    /// Return the sort key within a tick. All requests have the same key, because the engine serves
    /// them together when the tick ends.
    #[inline]
    pub fn order_key(self) -> u64 {
        self.0.min((Kind::Arrive as u64) << 60)
    }

    /// Return the rank of the event among events of its kind in a tick: see [`Kind`].
    #[inline]
    pub fn rank(self) -> u32 {
        (self.0 >> 32) as u32 & ((1 << RANK_BITS) - 1)
    }

    /// Return the number of the packet, node, group or queue that the event concerns: see [`Kind`].
    #[inline]
    pub fn subject(self) -> u32 {
        self.0 as u32
    }

    /// Return the packet that the event concerns.
    #[inline]
    pub fn packet(self) -> PacketId {
        PacketId::new(self.subject())
    }
}
