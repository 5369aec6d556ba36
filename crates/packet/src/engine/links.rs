//! Links: what decides who gets one, and what is known of it besides.

use super::group::Group;
use super::lanes::{LaneId, Lanes, NEVER};
use super::packets::Step;
use crate::limits::CHANNELS_MAX;
use crate::routes::{End, Run};
use isthmus_kernel::Cycles;
use std::ops::Range;

const _: () = assert!(CHANNELS_MAX <= u64::BITS);

/// Lanes whose times are in the record of the link; those of further ones lie elsewhere.
const WITHIN: usize = 2;

/// What decides who gets a link: 32 bytes, so that two beside one another are one line of the
/// processor's caches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// From when on its transmitter is free.
    pub transmitter: Cycles,
    /// From when on each of its lanes is free: never while that is not known, and where there is no
    /// such lane. Where lanes are not held, when the next credits come back, and for which channels: a
    /// bit for each.
    free: [Cycles; WITHIN],
    /// For the first link of a group.
    pub look: Look,
}

impl Link {
    fn new(lanes: Lanes, held: bool) -> Self {
        let second = if lanes.channels() > 1 { 0 } else { NEVER };
        Self {
            transmitter: 0,
            free: if held { [0, second] } else { [NEVER, 0] },
            look: Look::NOBODY,
        }
    }

    /// With cut-through, when the next credits come back; never if none do.
    #[inline]
    pub fn credits(&self) -> Cycles {
        self.free[0]
    }

    /// With cut-through, the channels for which credits come back: a bit for each.
    #[inline]
    pub fn coming(&self) -> u64 {
        self.free[1]
    }

    /// The next credits come back at this time, and any for these channels.
    #[inline]
    pub fn set_credits(&mut self, next: Cycles, coming: u64) {
        self.free = [next, coming];
    }

    /// With cut-through, when something may change for the better, as far as known, once credits have
    /// been collected.
    #[inline]
    fn next_change(&self, now: Cycles) -> Cycles {
        match self.transmitter > now {
            true => self.transmitter,
            false => self.credits(),
        }
    }
}

/// When a group is to be looked at again, because of headers that wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Look(Cycles);

impl Look {
    /// At some time that is not known yet. What is greater is no time.
    pub const UNKNOWN: Self = Self(NEVER - 3);
    /// When the tick ends: who waits is to be served.
    pub const TICK_ENDS: Self = Self(NEVER - 2);
    /// When the tick ends: one header has asked, and nobody waits.
    pub const ALONE: Self = Self(NEVER - 1);
    /// Not at all: nobody waits.
    pub const NOBODY: Self = Self(NEVER);

    #[inline]
    pub fn at(time: Cycles) -> Self {
        Self(time).min(Self::UNKNOWN)
    }

    /// Whether headers wait until something comes free later than in this tick.
    #[inline]
    pub fn is_later(self) -> bool {
        self <= Self::UNKNOWN
    }

    /// Moves a look that is to come to `time`, if that is sooner. Whether it is.
    #[inline]
    pub fn sooner(&mut self, time: Cycles) -> bool {
        let sooner = time < self.0 && self.is_later();
        if sooner {
            self.0 = time;
        }
        sooner
    }
}

/// Two links: a line of the processor's caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([Link; 2]);

const _: () = assert!(size_of::<Line>() == 64);

/// What is read and written of a link once for each packet, when the packet gets it.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(super) struct Ledger {
    /// Ticks for which the transmitter is taken, and packets that got the link: see
    /// [`Counters`](crate::Counters).
    pub busy: u64,
    pub packets: u64,
    /// Ticks for which circuits have held its lanes, without what the present times of the lanes
    /// add: those of releases before them less those of all grants, which wraps.
    held: u64,
    /// Where it leads.
    pub end: End,
}

const _: () = assert!(size_of::<Ledger>() == 32);

impl Ledger {
    fn new(end: End) -> Self {
        Self {
            busy: 0,
            packets: 0,
            held: 0,
            end,
        }
    }
}

/// The links of a network.
#[derive(Debug, Clone)]
pub(super) struct Links {
    lines: Vec<Line>,
    ledgers: Vec<Ledger>,
    /// For the first link of a group, the input served last: the turn is that of the one after it.
    served: Vec<u32>,
    /// The times of the lanes for which there is no room in the record.
    more: Vec<Cycles>,
    more_each: usize,
    pub lanes: Lanes,
}

impl Links {
    /// Idle links of these groups. `held`: whether lanes are held apart from transmitters.
    pub fn new(
        ends: impl Iterator<Item = End>,
        groups: &[Group],
        lanes: Lanes,
        held: bool,
    ) -> Self {
        let ledgers: Vec<Ledger> = ends.map(Ledger::new).collect();
        let more_each = (lanes.channels() as usize).saturating_sub(WITHIN);
        Self {
            lines: vec![Line([Link::new(lanes, held); 2]); ledgers.len().div_ceil(2)],
            served: groups.iter().map(Group::last_input).collect(),
            more: vec![0; ledgers.len() * more_each],
            more_each,
            ledgers,
            lanes,
        }
    }

    #[inline]
    pub fn get(&self, link: u32) -> &Link {
        &self.lines[(link / 2) as usize].0[(link % 2) as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, link: u32) -> &mut Link {
        &mut self.lines[(link / 2) as usize].0[(link % 2) as usize]
    }

    /// With cut-through, when one of these links may change for the better, as far as known, once
    /// credits have been collected.
    #[inline]
    pub fn next_change(&self, run: Run, now: Cycles) -> Cycles {
        let mut next = NEVER;
        for link in run.iter() {
            next = next.min(self.get(link).next_change(now));
        }
        next
    }

    #[inline]
    pub fn ledger(&self, link: u32) -> &Ledger {
        &self.ledgers[link as usize]
    }

    /// All links and what is known of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = (&Link, &Ledger)> {
        self.lines
            .iter()
            .flat_map(|line| &line.0)
            .zip(&self.ledgers)
    }

    /// The input served last of a group.
    #[inline]
    pub fn served(&self, group: u32) -> u32 {
        self.served[group as usize]
    }

    /// Notes that of a group this input is served.
    #[inline]
    pub fn serve(&mut self, group: u32, input: u32) {
        self.served[group as usize] = input;
    }

    /// Calls for what is asked of a run of links, unless that is in the processor's caches.
    #[inline]
    pub fn call(&self, run: Run) -> u64 {
        let last = run.first + run.links - 1;
        let counts = self.ledger(run.first).packets ^ self.ledger(last).packets;
        self.get(run.first).transmitter ^ self.get(last).transmitter ^ counts
    }

    /// Calls for the links of a path and the first ones of their groups, all together.
    #[inline]
    pub fn call_path(&self, path: &[Step]) -> u64 {
        path.iter().fold(0, |read, step| {
            let link = self.get(self.lanes.link(step.lane));
            read ^ link.transmitter ^ self.get(step.group).transmitter
        })
    }

    /// From when on each lane of a link is free, channel by channel.
    #[inline]
    pub fn free(&self, link: u32) -> impl Iterator<Item = Cycles> {
        let within = WITHIN.min(self.lanes.channels() as usize);
        let begin = link as usize * self.more_each;
        let more = &self.more[begin..begin + self.more_each];
        self.get(link).free[..within].iter().chain(more).copied()
    }

    /// The first lane of a link, of one class if that is given, that is free; otherwise when one is, as
    /// far as known.
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
        let more = WITHIN..WITHIN + self.more_each;
        self.first_free_from(link, more, now)
            .map_err(|more| more.min(next))
    }

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

    /// The channels of a class.
    fn of_class(&self, class: u16) -> Range<usize> {
        self.lanes.of_class(0, class)
    }

    /// Lanes of a link, of one class if that is given, that are not free; of all one more if there is
    /// only one. [`Links::most_not_free`] if all are.
    #[inline(always)]
    pub fn not_free(&self, link: u32, class: Option<u16>, now: Cycles) -> u32 {
        if let Some(class) = class {
            let Range { start, end } = self.of_class(class);
            let lanes = self.free(link).skip(start).take(end - start);
            return lanes.map(|free| u32::from(free > now)).sum();
        }
        let [first, second] = self.get(link).free;
        let mut count = u32::from(first > now) + u32::from(second > now);
        if self.more_each > 0 {
            let more = self.free(link).skip(WITHIN);
            count += more.map(|free| u32::from(free > now)).sum::<u32>();
        }
        count
    }

    /// See [`Links::not_free`].
    #[inline(always)]
    pub fn most_not_free(&self, class: Option<u16>) -> u32 {
        match class {
            Some(_) => self.lanes.each(),
            None => (WITHIN + self.more_each) as u32,
        }
    }

    /// Gives away a lane that is free now. When it is free again is not known. Answers when the
    /// packet starts.
    #[inline]
    pub fn hold(&mut self, lane: LaneId, now: Cycles) -> Cycles {
        let (link, channel) = (self.lanes.link(lane), self.lanes.channel(lane) as usize);
        let record = &mut self.lines[(link / 2) as usize].0[(link % 2) as usize];
        let free = match record.free.get_mut(channel) {
            Some(free) => free,
            None => &mut self.more[link as usize * self.more_each + channel - WITHIN],
        };
        let before = std::mem::replace(free, NEVER);
        let held = &mut self.ledgers[link as usize].held;
        *held = held.wrapping_add(before).wrapping_sub(now);
        record.transmitter.max(now)
    }

    /// Notes from when on a lane that is held is free.
    #[inline]
    pub fn release(&mut self, lane: LaneId, time: Cycles) {
        let (link, channel) = (self.lanes.link(lane), self.lanes.channel(lane) as usize);
        if let Some(free) = self.get_mut(link).free.get_mut(channel) {
            *free = time;
        } else {
            self.more[link as usize * self.more_each + channel - WITHIN] = time;
        }
    }

    /// Notes that a packet takes the transmitter of a link for so many ticks from `start` on.
    #[inline]
    pub fn take(&mut self, link: u32, start: Cycles, ticks: Cycles) {
        self.get_mut(link).transmitter = start + ticks;
        let ledger = &mut self.ledgers[link as usize];
        ledger.busy += ticks;
        ledger.packets += 1;
    }

    /// For each link, ticks for which circuits have held its lanes: those of all releases less
    /// those of all grants, which wraps while some are held.
    pub fn held(&self) -> Vec<u64> {
        let links = (0..).zip(&self.ledgers);
        (links.map(|(link, ledger)| ledger.held.wrapping_add(self.known(link)))).collect()
    }

    /// Restarts the counters, from these ticks for which transmitters are busy and lanes are held.
    pub fn restart_counts(&mut self, busy: &[u64], held: &[u64]) {
        let known: Vec<u64> = (0..busy.len() as u32)
            .map(|link| self.known(link))
            .collect();
        for (link, ledger) in self.ledgers.iter_mut().enumerate() {
            ledger.busy = busy[link];
            ledger.packets = 0;
            ledger.held = held[link].wrapping_sub(known[link]);
        }
    }

    /// The sum of the times from which on lanes of a link are free, without those not known.
    fn known(&self, link: u32) -> u64 {
        let known = self.free(link).filter(|&free| free != NEVER);
        known.fold(0, u64::wrapping_add)
    }
}
