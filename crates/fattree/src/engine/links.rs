//! Links: one record for each, in which all is that an event touches of a link.

use super::lanes::Lanes;
use super::ways::Ways;
use super::{NEVER, group::Group};
use isthmus_kernel::Cycles;

/// Lanes whose times are in the record of the link; those of further ones lie elsewhere.
const WITHIN: usize = 2;

/// Whether the headers that ask for a group of outputs are to be served when the tick ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nobody has asked in this tick.
    No,
    /// One header has, and nobody else waits.
    Alone,
    /// It is to be looked at which of those that wait are served.
    Many,
}

/// A link: 64 bytes, one line of the processor's caches.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct Link {
    /// From when on its transmitter is free.
    pub transmitter: Cycles,
    /// From when on each of its lanes is free; never while that is not known.
    free: [Cycles; WITHIN],
    /// Ticks for which the transmitter is taken, and packets that got the link: see
    /// [`Counters`](crate::Counters).
    pub busy: u64,
    pub packets: u64,
    /// For the first link of a group, when the group is to be looked at again: 0 if nobody waits,
    /// never if nothing is known to come free.
    pub wake: Cycles,
    /// The first links up and down of the switch that the link leads to; in place of the latter
    /// the node, if it leads to one.
    pub first_up: u32,
    pub first_down: u32,
    /// The port of the switch at which it enters: that of the link beside it which leads back,
    /// ports down first.
    pub port: u16,
    /// Its place in its group, which has the number of its first link.
    place: u16,
    /// For the first link of a group, the input served last: the turn is that of the one after it.
    pub served: u16,
    /// The level of the switch that it leads to; 0 for a node.
    pub level: u8,
    /// For the first link of a group.
    pub asked: Asked,
}

const _: () = assert!(size_of::<Link>() == 64);

/// The links of a tree.
#[derive(Debug, Clone)]
pub(super) struct Links {
    links: Vec<Link>,
    /// The times of the lanes for which there is no room in the record.
    more: Vec<Cycles>,
    more_each: usize,
    /// For each link, for how long circuits have held its lanes: see
    /// [`Counters`](crate::Counters). Read and written when a lane is taken and freed only.
    held: Vec<u64>,
    pub lanes: Lanes,
}

impl Links {
    /// Idle links; each a group of its own.
    pub fn new(ways: &Ways, lanes: Lanes) -> Self {
        let links = ways.ends().map(|end| Link {
            transmitter: 0,
            free: [0; WITHIN],
            busy: 0,
            packets: 0,
            wake: 0,
            first_up: end.first_up,
            first_down: end.first_down,
            port: end.port,
            place: 0,
            served: 0,
            level: end.level,
            asked: Asked::No,
        });
        let links: Vec<Link> = links.collect();
        let more_each = (lanes.channels() as usize).saturating_sub(WITHIN);
        Self {
            more: vec![0; links.len() * more_each],
            more_each,
            held: vec![0; links.len()],
            links,
            lanes,
        }
    }

    /// Makes so many links from this one on a group.
    pub fn join(&mut self, first: u32, links: u32) {
        for place in 0..links {
            self.get_mut(first + place).place = place as u16;
        }
    }

    /// All links idle, nothing counted, and no turn taken.
    pub fn clear(&mut self, groups: &[Group]) {
        self.more.fill(0);
        self.held.fill(0);
        for (link, group) in self.links.iter_mut().zip(groups) {
            link.transmitter = 0;
            link.free = [0; WITHIN];
            link.busy = 0;
            link.packets = 0;
            link.wake = 0;
            link.served = group.last_input();
            link.asked = Asked::No;
        }
    }

    #[inline]
    pub fn get(&self, link: u32) -> &Link {
        &self.links[link as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, link: u32) -> &mut Link {
        &mut self.links[link as usize]
    }

    /// All, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// For each link, ticks for which circuits have held its lanes: those of all releases less
    /// those of all grants, which wraps while some are held.
    pub fn held(&self) -> &[u64] {
        &self.held
    }

    /// Counts anew, from these ticks for which transmitters are taken and lanes are held.
    pub fn restart_counts(&mut self, busy: &[u64], held: Vec<u64>) {
        for (link, &busy) in self.links.iter_mut().zip(busy) {
            link.busy = busy;
            link.packets = 0;
        }
        self.held = held;
    }

    /// The group of a link.
    #[inline]
    pub fn group_of(&self, link: u32) -> u32 {
        link - u32::from(self.get(link).place)
    }

    /// From when on each lane of a link is free, channel by channel.
    #[inline]
    pub fn free(&self, link: u32) -> impl Iterator<Item = Cycles> {
        let within = WITHIN.min(self.lanes.channels() as usize);
        let begin = link as usize * self.more_each;
        let more = &self.more[begin..begin + self.more_each];
        self.get(link).free[..within].iter().chain(more).copied()
    }

    /// Notes that a packet holds a lane from `now` on, until nobody knows when.
    #[inline]
    pub fn hold(&mut self, lane: u32, now: Cycles) {
        self.set_free(lane, NEVER);
        let held = &mut self.held[self.lanes.link(lane) as usize];
        *held = held.wrapping_sub(now);
    }

    /// Notes from when on a lane that is held is free.
    #[inline]
    pub fn release(&mut self, lane: u32, time: Cycles) {
        self.set_free(lane, time);
        let held = &mut self.held[self.lanes.link(lane) as usize];
        *held = held.wrapping_add(time);
    }

    #[inline]
    fn set_free(&mut self, lane: u32, time: Cycles) {
        let (link, channel) = (self.lanes.link(lane), self.lanes.channel(lane) as usize);
        if channel < WITHIN {
            self.get_mut(link).free[channel] = time;
        } else {
            self.more[link as usize * self.more_each + channel - WITHIN] = time;
        }
    }
}

impl Link {
    /// The node that it leads to, if not to a switch.
    #[inline]
    pub fn node(&self) -> Option<u32> {
        (self.level == 0).then_some(self.first_down)
    }

    /// Notes that the transmitter is taken for so many ticks from `start` on.
    #[inline]
    pub fn take(&mut self, start: Cycles, ticks: Cycles) {
        self.transmitter = start + ticks;
        self.busy += ticks;
        self.packets += 1;
    }

    /// Notes that headers wait for the group, whose first link this is.
    #[inline]
    pub fn somebody_waits(&mut self) {
        if self.wake == 0 {
            self.wake = NEVER;
        }
    }
}
