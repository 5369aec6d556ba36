//! Numbers of lanes.

use std::ops::Range;

/// A lane is a virtual channel of a link. The numbers of those of a link begin at a multiple of a
/// power of two, so that no division is needed to find the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    channels: u32,
    shift: u32,
}

impl Lanes {
    pub fn new(channels: u32) -> Self {
        Self {
            channels,
            shift: channels.next_power_of_two().trailing_zeros(),
        }
    }

    /// Lanes of a link.
    #[inline]
    pub fn channels(self) -> u32 {
        self.channels
    }

    /// Numbers that the lanes of so many links need.
    pub fn count(self, links: u32) -> usize {
        (links as usize) << self.shift
    }

    #[inline]
    pub fn lane(self, link: u32, channel: u32) -> u32 {
        link << self.shift | channel
    }

    #[inline]
    pub fn link(self, lane: u32) -> u32 {
        lane >> self.shift
    }

    #[inline]
    pub fn channel(self, lane: u32) -> u32 {
        lane & ((1 << self.shift) - 1)
    }

    /// The lanes of a link.
    #[inline]
    pub fn of(self, link: u32) -> Range<usize> {
        let begin = (link as usize) << self.shift;
        begin..begin + self.channels as usize
    }
}
