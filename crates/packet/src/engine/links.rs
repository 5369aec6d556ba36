//! State of links, in two records for each link: the state that choices among links read, and the
//! rest.

use super::group::Group;
use super::lanes::{LaneId, Lanes, NEVER};
use super::packets::Step;
use crate::limits::CHANNELS_MAX;
use crate::routes::{End, Run};
use isthmus_kernel::Cycles;
use std::ops::Range;

const _: () = assert!(CHANNELS_MAX <= u64::BITS);

/// Number of lanes (virtual channels) whose release times are in the record of the link. The times
/// of further lanes are in `Links::more`.
const LANES_IN_RECORD: usize = 2;

/// State that determines which packet gets a link, and when. Two records of 32 bytes fit into one
/// cache line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// Time from which the transmitter of the link is free.
    pub transmitter: Cycles,
    /// With circuits: for each lane in the record, the time at which it becomes free. It is `NEVER`
    /// while the time is unknown, and for a lane that does not exist. With cut-through: the time of
    /// the next returning credits, and a bitmap of the channels to which credits are on their way.
    free: [Cycles; LANES_IN_RECORD],
    /// Time of the next check of the group of links that starts with this link.
    pub next_check: NextCheck,
}

impl Link {
    /// Create the record of an idle link. `held`: whether packets occupy lanes (virtual channels)
    /// for longer than transmitters.
    fn new(lanes: Lanes, held: bool) -> Self {
        let second = if lanes.channels() > 1 { 0 } else { NEVER };
        Self {
            transmitter: 0,
            free: if held { [0, second] } else { [NEVER, 0] },
            next_check: NextCheck::NOBODY,
        }
    }

    /// Return the time at which credits return next; `NEVER` if there are none on their way. Cut-through only.
    #[inline]
    pub fn next_credit_return(&self) -> Cycles {
        self.free[0]
    }

    /// Return the bitmap of the channels to which credits are on their way. Cut-through only.
    #[inline]
    pub fn returning_channels(&self) -> u64 {
        self.free[1]
    }

    /// Record the time at which the next credits return, and a bitmap of the channels to which
    /// credits are on their way.
    #[inline]
    pub fn set_returning_credits(&mut self, next: Cycles, returning_channels: u64) {
        self.free = [next, returning_channels];
    }

    /// Return the earliest time at which the link may become available, as far as known. With
    /// cut-through, the caller must have collected credits before.
    #[inline]
    fn next_change(&self, now: Cycles) -> Cycles {
        match self.transmitter > now {
            true => self.transmitter,
            false => self.next_credit_return(),
        }
    }
}

/// Time at which the engine next checks whether a header that waits for a group of links can be
/// served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NextCheck(Cycles);

impl NextCheck {
    /// A check at a time that is not known yet. Greater values than this one are states instead of
    /// times.
    pub const UNKNOWN: Self = Self(NEVER - 3);
    /// A check of the group of links at the end of the tick, in which waiting headers get links.
    pub const TICK_ENDS: Self = Self(NEVER - 2);
    /// A check of the group of links when the tick ends: one header has requested a link, no other
    /// waits.
    pub const ALONE: Self = Self(NEVER - 1);
    /// No check of the group of links is due, because no header waits.
    pub const NOBODY: Self = Self(NEVER);

    /// Create the value for a check of the group of links at `time`.
    #[inline]
    pub fn at(time: Cycles) -> Self {
        Self(time).min(Self::UNKNOWN)
    }

    /// Return whether headers wait for a resource that becomes free after this tick.
    #[inline]
    pub fn is_later(self) -> bool {
        self <= Self::UNKNOWN
    }

    /// Move a pending check to `time`, if that is sooner. Return whether it was moved.
    #[inline]
    pub fn advance_to(&mut self, time: Cycles) -> bool {
        let sooner = time < self.0 && self.is_later();
        if sooner {
            self.0 = time;
        }
        sooner
    }
}

/// Records of two links in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([Link; 2]);

const _: () = assert!(size_of::<Line>() == 64);

/// Counters of a link, and the switch port to which it leads. The engine accesses them once per
/// packet, when the packet gets the link.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Ledger {
    /// Number of ticks in which the transmitter was busy: see [`Counters`](crate::Counters).
    pub busy: u64,
    /// Number of packets that got the link.
    pub packets: u64,
    /// Ticks for which circuits occupied the lanes (virtual channels) of the link: the sum of
    /// earlier release times minus the sum of all grant times. The present release times of the
    /// lanes are not included. The value wraps around.
    held: u64,
    /// The vertex and port to which the link leads.
    pub end: End,
}

const _: () = assert!(size_of::<Ledger>() == 32);

impl Ledger {
    /// Return the record, with counters at 0, of a link that leads to this vertex and port.
    fn new(end: End) -> Self {
        Self {
            busy: 0,
            packets: 0,
            held: 0,
            end,
        }
    }
}

/// States of all links of a network.
#[derive(Debug, Clone)]
pub(super) struct Links {
    lines: Vec<Line>,
    /// For each link, its counters and its end, which choices among links do not need.
    ledgers: Vec<Ledger>,
    /// For the first link of a group: the switch input from which a packet was served last. Round
    /// robin continues with the next input.
    served: Vec<u32>,
    /// Release times of the lanes (virtual channels) of each link for which its [`Link`] record has
    /// no room.
    more: Vec<Cycles>,
    /// Number of lanes (virtual channels) of each link whose times are in `more`.
    more_each: usize,
    pub lanes: Lanes,
}

impl Links {
    /// Create the states of idle links with these groups of waiting headers. `held`: whether
    /// packets occupy lanes (virtual channels) for longer than transmitters.
    pub fn new(
        ends: impl Iterator<Item = End>,
        groups: &[Group],
        lanes: Lanes,
        held: bool,
    ) -> Self {
        let ledgers: Vec<Ledger> = ends.map(Ledger::new).collect();
        let more_each = (lanes.channels() as usize).saturating_sub(LANES_IN_RECORD);
        Self {
            lines: vec![Line([Link::new(lanes, held); 2]); ledgers.len().div_ceil(2)],
            served: groups.iter().map(Group::last_input).collect(),
            more: vec![0; ledgers.len() * more_each],
            more_each,
            ledgers,
            lanes,
        }
    }

    /// Return the record of a link, which routing reads to choose among links.
    #[inline]
    pub fn get(&self, link: u32) -> &Link {
        &self.lines[(link / 2) as usize].0[(link % 2) as usize]
    }

    /// Return mutable access to the record of a link, which routing reads to choose among links.
    #[inline]
    pub fn get_mut(&mut self, link: u32) -> &mut Link {
        &mut self.lines[(link / 2) as usize].0[(link % 2) as usize]
    }

    /// Return the earliest time at which one of these links may become available, as far as known.
    /// With cut-through, the caller must have collected credits before.
    #[inline]
    pub fn next_change(&self, run: Run, now: Cycles) -> Cycles {
        let mut next = NEVER;
        for link in run.iter() {
            next = next.min(self.get(link).next_change(now));
        }
        next
    }

    /// Return the counters and the end of a link, which choices among links do not need.
    #[inline]
    pub fn ledger(&self, link: u32) -> &Ledger {
        &self.ledgers[link as usize]
    }

    /// Return the two records of each link, by number.
    pub fn iter(&self) -> impl Iterator<Item = (&Link, &Ledger)> {
        self.lines
            .iter()
            .flat_map(|line| &line.0)
            .zip(&self.ledgers)
    }

    /// Return the switch input from which a group of links last served a packet, for round robin.
    #[inline]
    pub fn served(&self, group: u32) -> u32 {
        self.served[group as usize]
    }

    /// Set the switch input from which a group of links last served a packet, for round robin.
    #[inline]
    pub fn set_served(&mut self, group: u32, input: u32) {
        self.served[group as usize] = input;
    }

    /// Read the records of a run of links, so that the processor caches them. The result has no
    /// meaning.
    #[inline]
    pub fn prefetch(&self, run: Run) -> u64 {
        let last = run.first + run.links - 1;
        let counts = self.ledger(run.first).packets ^ self.ledger(last).packets;
        self.get(run.first).transmitter ^ self.get(last).transmitter ^ counts
    }

    /// Read the records of the links of a path and of the first links of their groups, so that the
    /// processor caches them. The result has no meaning.
    #[inline]
    pub fn prefetch_path(&self, path: &[Step]) -> u64 {
        path.iter().fold(0, |read, step| {
            let link = self.get(self.lanes.link(step.lane));
            read ^ link.transmitter ^ self.get(step.group).transmitter
        })
    }

    /// Return the time at which each lane of a link becomes free, by channel.
    #[inline]
    pub fn free(&self, link: u32) -> impl Iterator<Item = Cycles> {
        let within = LANES_IN_RECORD.min(self.lanes.channels() as usize);
        let begin = link as usize * self.more_each;
        let more = &self.more[begin..begin + self.more_each];
        self.get(link).free[..within].iter().chain(more).copied()
    }

    /// Return the first free lane (virtual channel) of a link; with a class, of the lanes of that
    /// class. If no lane is free, return the time at which one becomes free, as far as known.
    #[inline(always)]
    pub fn first_free(&self, link: u32, class: Option<u16>, now: Cycles) -> Result<LaneId, Cycles> {
        if let Some(class) = class {
            return self.first_free_from(link, self.of_class(class), now);
        }
        let [first, second] = self.get(link).free;
        if first <= now {
            return Ok(self.lanes.lane(link, 0));
        }
        if second <= now {
            return Ok(self.lanes.lane(link, 1));
        }
        let next = first.min(second);
        if self.more_each == 0 {
            return Err(next);
        }
        let more = LANES_IN_RECORD..LANES_IN_RECORD + self.more_each;
        self.first_free_from(link, more, now)
            .map_err(|more| more.min(next))
    }

    /// Return the first free lane among these channels of a link, or the time at which one becomes
    /// free.
    fn first_free_from(
        &self,
        link: u32,
        channels: Range<usize>,
        now: Cycles,
    ) -> Result<LaneId, Cycles> {
        let mut next = NEVER;
        let count = channels.len();
        for (channel, free) in (self.free(link).enumerate().skip(channels.start)).take(count) {
            if free <= now {
                return Ok(self.lanes.lane(link, channel as u32));
            }
            next = next.min(free);
        }
        Err(next)
    }

    /// Return the range of channel numbers that a class has on every link.
    fn of_class(&self, class: u16) -> Range<usize> {
        self.lanes.of_class(0, class)
    }

    /// Return the number of busy lanes (virtual channels) of a link, or of one class of it. Without
    /// a class, a link with a single lane counts one lane more, which is always busy. If all lanes
    /// are busy, the result is [`Links::busy_lanes_max`].
    #[inline(always)]
    pub fn busy_lanes(&self, link: u32, class: Option<u16>, now: Cycles) -> u32 {
        if let Some(class) = class {
            let Range { start, end } = self.of_class(class);
            let lanes = self.free(link).skip(start).take(end - start);
            return lanes.map(|free| u32::from(free > now)).sum();
        }
        let [first, second] = self.get(link).free;
        let mut count = u32::from(first > now) + u32::from(second > now);
        if self.more_each > 0 {
            let more = self.free(link).skip(LANES_IN_RECORD);
            count += more.map(|free| u32::from(free > now)).sum::<u32>();
        }
        count
    }

    /// Return the value that [`Links::busy_lanes`] returns for a link without a free lane (virtual
    /// channel).
    #[inline(always)]
    pub fn busy_lanes_max(&self, class: Option<u16>) -> u32 {
        match class {
            Some(_) => self.lanes.channels_per_class(),
            None => (LANES_IN_RECORD + self.more_each) as u32,
        }
    }

    /// Grant a free lane (virtual channel) to a packet; the time at which the lane becomes free
    /// again is still unknown. Return the time at which the packet starts on the link.
    #[inline]
    pub fn hold(&mut self, lane: LaneId, now: Cycles) -> Cycles {
        let (link, channel) = (self.lanes.link(lane), self.lanes.channel(lane) as usize);
        let record = &mut self.lines[(link / 2) as usize].0[(link % 2) as usize];
        let free = match record.free.get_mut(channel) {
            Some(free) => free,
            None => &mut self.more[link as usize * self.more_each + channel - LANES_IN_RECORD],
        };
        let before = std::mem::replace(free, NEVER);
        let held = &mut self.ledgers[link as usize].held;
        *held = held.wrapping_add(before).wrapping_sub(now);
        record.transmitter.max(now)
    }

    /// Set the time at which a granted lane (virtual channel) becomes free.
    #[inline]
    pub fn release(&mut self, lane: LaneId, time: Cycles) {
        let (link, channel) = (self.lanes.link(lane), self.lanes.channel(lane) as usize);
        if let Some(free) = self.get_mut(link).free.get_mut(channel) {
            *free = time;
        } else {
            self.more[link as usize * self.more_each + channel - LANES_IN_RECORD] = time;
        }
    }

    /// Occupy the transmitter of a link for `ticks` from `start` on.
    #[inline]
    pub fn occupy(&mut self, link: u32, start: Cycles, ticks: Cycles) {
        self.get_mut(link).transmitter = start + ticks;
        let ledger = &mut self.ledgers[link as usize];
        ledger.busy += ticks;
        ledger.packets += 1;
    }

    /// Return the ticks for which circuits occupied the lanes (virtual channels) of each link: the
    /// sum of release times minus that of grant times. The value wraps around while some lanes have
    /// no release time yet.
    pub fn held(&self) -> Vec<u64> {
        let links = (0..).zip(&self.ledgers);
        (links.map(|(link, ledger)| ledger.held.wrapping_add(self.free_time_sum(link)))).collect()
    }

    /// Restart the counters of all links at these values: busy ticks of transmitters and occupied
    /// ticks of lanes (virtual channels).
    pub fn restart_counts(&mut self, busy: &[u64], held: &[u64]) {
        let sums: Vec<u64> = (0..busy.len() as u32)
            .map(|link| self.free_time_sum(link))
            .collect();
        for (link, ledger) in self.ledgers.iter_mut().enumerate() {
            ledger.busy = busy[link];
            ledger.packets = 0;
            ledger.held = held[link].wrapping_sub(sums[link]);
        }
    }

    /// Return the sum of the known times at which lanes (virtual channels) of a link become free.
    fn free_time_sum(&self, link: u32) -> u64 {
        let times = self.free(link).filter(|&free| free != NEVER);
        times.fold(0, u64::wrapping_add)
    }
}
