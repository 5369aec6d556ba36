//! Numbers of the lanes, which are the virtual channels of all links.

use isthmus_kernel::Cycles;
use isthmus_kernel::{Id, id};
use std::ops::Range;

/// Time that means "never".
pub(super) const NEVER: Cycles = Cycles::MAX;

id! {
    /// Number of a lane: a virtual channel of a link.
    pub(crate) struct LaneId;
}

/// Numbering of lanes, the virtual channels of links. The numbers of the lanes of a link start at a
/// multiple of a power of two, so that no division is needed to find the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    channels: u32,
    /// Binary logarithm of the difference between the numbers of the first lanes (virtual channels)
    /// of two consecutive links.
    shift: u32,
    /// Number of virtual channels that each class has on a link.
    channels_per_class: u32,
}

impl Lanes {
    /// Return the numbering for links with `classes` classes of `channels_per_class` channels.
    pub fn new(classes: u32, channels_per_class: u32) -> Self {
        let channels = classes * channels_per_class;
        Self {
            channels,
            channels_per_class,
            shift: channels.next_power_of_two().trailing_zeros(),
        }
    }

    /// Return the number of lanes (virtual channels) of each link.
    #[inline]
    pub fn channels(self) -> u32 {
        self.channels
    }

    /// Return the size of a table that is indexed by the lanes (virtual channels) of this number of
    /// links. It includes unused lane numbers.
    pub fn count(self, links: u32) -> usize {
        (links as usize) << self.shift
    }

    /// Return the number of the lane for the virtual channel `channel` of a link.
    #[inline]
    pub fn lane(self, link: u32, channel: u32) -> LaneId {
        LaneId::new(link << self.shift | channel)
    }

    /// Return the link to which a lane (virtual channel) belongs.
    #[inline]
    pub fn link(self, lane: LaneId) -> u32 {
        lane.number() >> self.shift
    }

    /// Return the number of a lane (virtual channel) among the lanes of its link.
    #[inline]
    pub fn channel(self, lane: LaneId) -> u32 {
        lane.number() & ((1 << self.shift) - 1)
    }

    /// Return the number of lanes (virtual channels) that each class has on a link.
    #[inline]
    pub fn channels_per_class(self) -> u32 {
        self.channels_per_class
    }

    /// Return the range of the numbers of the lanes (virtual channels) that a class has on a link.
    #[inline]
    pub fn of_class(self, link: u32, class: u16) -> Range<usize> {
        let begin = (link as usize) << self.shift;
        let begin = begin + usize::from(class) * self.channels_per_class as usize;
        begin..begin + self.channels_per_class as usize
    }

    /// Return the range of the numbers of all lanes (virtual channels) of a link.
    #[inline]
    pub fn of_link(self, link: u32) -> Range<usize> {
        let begin = (link as usize) << self.shift;
        begin..begin + self.channels as usize
    }
}
