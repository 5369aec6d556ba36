//! Numbers of lanes.

use isthmus_kernel::Cycles;
use isthmus_kernel::{Id, id};
use std::ops::Range;

pub(super) const NEVER: Cycles = Cycles::MAX;

id! {
    /// A lane.
    pub(crate) struct LaneId;
}

/// A lane is a virtual channel of a link. The numbers of those of a link begin at a multiple of a
/// power of two, so that no division is needed to find the link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    channels: u32,
    shift: u32,
    /// Channels of a class.
    each: u32,
}

impl Lanes {
    /// Those of links with so many classes of so many channels each.
    pub fn new(classes: u32, each: u32) -> Self {
        let channels = classes * each;
        Self {
            channels,
            each,
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
    pub fn lane(self, link: u32, channel: u32) -> LaneId {
        LaneId::new(link << self.shift | channel)
    }

    #[inline]
    pub fn link(self, lane: LaneId) -> u32 {
        lane.number() >> self.shift
    }

    #[inline]
    pub fn channel(self, lane: LaneId) -> u32 {
        lane.number() & ((1 << self.shift) - 1)
    }

    /// Lanes of a link that are of one class.
    #[inline]
    pub fn each(self) -> u32 {
        self.each
    }

    /// The lanes of a link that are of one class.
    #[inline]
    pub fn of_class(self, link: u32, class: u16) -> Range<usize> {
        let begin = (link as usize) << self.shift;
        let begin = begin + usize::from(class) * self.each as usize;
        begin..begin + self.each as usize
    }

    /// The lanes of a link.
    #[inline]
    pub fn of(self, link: u32) -> Range<usize> {
        let begin = (link as usize) << self.shift;
        begin..begin + self.channels as usize
    }
}
