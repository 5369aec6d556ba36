//! Events, and their order within a tick: first reports, then requests.

use super::packets::PacketId;
use isthmus_kernel::Id;

/// An event: kind, rank within the kind, and what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u64);

/// What happens, in the order within a tick. Those from `Arrive` on ask for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A packet's tail arrives: rank its last link, about the packet.
    Deliver,
    /// The time of a reminder has come: rank its node.
    Remind,
    /// The time of a message has come: rank its node.
    Generate,
    /// The DMA of a message may start: rank its node, about the queue (one more than the last:
    /// the replies).
    Start,
    /// A header asks for an output: about the packet.
    Arrive,
    /// Something that a group of outputs waits for comes free: about the group.
    Wake,
    /// A node may inject: about the node.
    Inject,
    /// Something that an output buffer waits for comes free: about its link.
    Send,
}

const RANK_BITS: u32 = 28;

impl Event {
    #[inline]
    pub fn new(kind: Kind, rank: u32, about: u32) -> Self {
        debug_assert!(rank < 1 << RANK_BITS);
        Self((kind as u64) << 60 | u64::from(rank) << 32 | u64::from(about))
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

    /// What decides the order within a tick. It is the same for all events that ask for something:
    /// they are answered together when the tick ends.
    #[inline]
    pub fn turn(self) -> u64 {
        self.0.min((Kind::Arrive as u64) << 60)
    }

    #[inline]
    pub fn rank(self) -> u32 {
        (self.0 >> 32) as u32 & ((1 << RANK_BITS) - 1)
    }

    #[inline]
    pub fn about(self) -> u32 {
        self.0 as u32
    }

    /// The packet that it is about.
    #[inline]
    pub fn packet(self) -> PacketId {
        PacketId::new(self.about())
    }
}
