//! Limit on the messages of one sender that are under way.

/// Limit on the messages of one sender that are under way at a time. A generated message is handed
/// to the network interface, in order, when fewer messages are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outstanding {
    /// At most this number of messages, 1 or more.
    AtMost(u32),
    /// No limit on the messages under way.
    Unlimited,
}

impl Outstanding {
    /// A limit of one: the next message waits until the previous one is complete.
    pub const ONE: Self = Self::AtMost(1);

    /// Return whether another message may be handed over while `under_way` messages are under way.
    #[inline]
    pub fn admits(self, under_way: u32) -> bool {
        match self {
            Self::AtMost(most) => under_way < most,
            Self::Unlimited => true,
        }
    }

    /// Return the largest number of messages under way, or `None` if there is no limit.
    pub fn limit(self) -> Option<u32> {
        match self {
            Self::AtMost(most) => Some(most),
            Self::Unlimited => None,
        }
    }
}
