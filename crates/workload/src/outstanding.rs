//! How many messages of one sender may be under way.

/// Messages of one sender that may be under way at a time. The next message in order is handed to
/// the network interface when it has been asked for and fewer are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outstanding {
    /// So many, 1 or more.
    AtMost(u32),
    /// However many have been asked for.
    Unlimited,
}

impl Outstanding {
    /// One message after another.
    pub const ONE: Self = Self::AtMost(1);

    /// Whether one more may be handed over while so many are under way.
    #[inline]
    pub fn admits(self, under_way: u32) -> bool {
        match self {
            Self::AtMost(most) => under_way < most,
            Self::Unlimited => true,
        }
    }

    /// The number, if there is one.
    pub fn limit(self) -> Option<u32> {
        match self {
            Self::AtMost(most) => Some(most),
            Self::Unlimited => None,
        }
    }
}
