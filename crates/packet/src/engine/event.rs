//! Events, and their order within a tick: first reports, then requests.

use super::packets::PacketId;
use isthmus_kernel::Id;

/// An event, packed into a word: its kind, its rank within the kind, and its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u64);

/// Kinds of events, in their order within a tick. Kinds from `Arrive` on are requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The tail of a packet arrives. Rank: its last link; subject: the packet.
    Deliver,
    /// A reminder is due. Rank: its node.
    Remind,
    /// A message is generated. Rank: its node.
    Generate,
    /// The DMA of a message may start. Rank: its node; subject: the queue, or the number of queues
    /// for replies.
    Start,
    /// A header requests an output. Subject: the packet.
    Arrive,
    /// A resource that a group of outputs waits for becomes free. Subject: the group.
    Wake,
    /// A node may inject. Subject: the node.
    Inject,
    /// A resource that an output buffer waits for becomes free. Subject: its link.
    Send,
}

const RANK_BITS: u32 = 28;

impl Event {
    #[inline]
    pub fn new(kind: Kind, rank: u32, subject: u32) -> Self {
        debug_assert!(rank < 1 << RANK_BITS);
        Self((kind as u64) << 60 | u64::from(rank) << 32 | u64::from(subject))
    }

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

    /// Return the sort key within a tick. It is the same for all requests: they are answered
    /// together when the tick ends.
    #[inline]
    pub fn order_key(self) -> u64 {
        self.0.min((Kind::Arrive as u64) << 60)
    }

    #[inline]
    pub fn rank(self) -> u32 {
        (self.0 >> 32) as u32 & ((1 << RANK_BITS) - 1)
    }

    #[inline]
    pub fn subject(self) -> u32 {
        self.0 as u32
    }

    /// Return the subject as a packet.
    #[inline]
    pub fn packet(self) -> PacketId {
        PacketId::new(self.subject())
    }
}
