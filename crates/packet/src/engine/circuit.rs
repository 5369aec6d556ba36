//! Circuit switching: a packet holds a lane (virtual channel) of each link of its route until the
//! acknowledgement has come back over that link.
//!
//! The links among which a header may choose form a group. The engine checks a group in which
//! headers wait when its first lane becomes free. In a network with one class of channels, headers
//! wait only while no lane of the group is free. So a header may get a lane at the time of its
//! request only if no other header waits. With several classes, a header may wait for a lane of its
//! class while lanes of other classes are free. Then each request leads to a check of the group
//! when the tick ends.

use super::core::{Core, NEVER, SwitchingMethod, ticks_on};
use super::equals::choose_equal;
use super::event::{Event, Kind};
use super::group::Waiter;
use super::lanes::LaneId;
use super::links::{Links, NextCheck};
use super::packets::{MessageId, Packet, PacketId, Step};
use crate::readings::{Adaptive, AgeFrom, LinkLoad, LinkTie};
use crate::routes::{Header, Routes, Run, pick};
use isthmus_kernel::{Cycles, Id};
use std::hint::black_box;

/// Result of a search for a free lane (virtual channel) among the links of a run.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// No lane (virtual channel) is free; the next one becomes free at this time, as far as known.
    Busy(Cycles),
    /// The granted lane (virtual channel), if the run has a single link.
    Lane(LaneId),
    /// Several equally good links with a free lane (virtual channel): the number of the first of
    /// them, their count and their merit.
    Links(u32, u32, Merit),
}

/// Merit of a link for a packet; the link with the smallest merit is the best. Fewer busy lanes
/// (virtual channels) are better; among equals, a transmitter that becomes free sooner. With
/// [`LinkLoad::Idle`] the number of busy lanes does not count, unless all are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Merit {
    held: u32,
    /// Time at which the link's transmitter becomes free, so that the packet can start.
    free_at: Cycles,
}

/// Queries that circuit switching makes on the state of links.
impl Links {
    /// Return when a node can inject a packet over a run of its links, or when to repeat the query;
    /// `None` if unknown. The node's packets may occupy at most `in_flight` lanes (virtual
    /// channels) of its links, which are `all`.
    #[inline]
    pub fn free_at(
        &self,
        run: Run,
        class: Option<u16>,
        all: Run,
        in_flight: u32,
        now: Cycles,
    ) -> Option<Cycles> {
        let (mut held, mut next) = (0, NEVER);
        for link in all.iter() {
            for free in self.free(link) {
                if free > now {
                    held += 1;
                    next = next.min(free);
                }
            }
        }
        if held < in_flight
            && run
                .iter()
                .any(|link| self.first_free(link, class, now).is_ok())
        {
            return Some(now);
        }
        (next < NEVER).then_some(next)
    }

    /// Return the merit of a link for a packet, by which the packet chooses among links. `class` is
    /// `None` in a network with one class of channels.
    #[inline(always)]
    fn merit(&self, link: u32, class: Option<u16>, load: LinkLoad, now: Cycles) -> Merit {
        let held = self.busy_lanes(link, class, now);
        Merit {
            held: match load {
                LinkLoad::Idle if held < self.busy_lanes_max(class) => 0,
                _ => held,
            },
            free_at: self.get(link).transmitter.max(now),
        }
    }

    /// Return the free lane (virtual channel) of a run of links that is best for a packet, or the
    /// equally good links.
    #[inline(always)]
    fn choice(&self, run: Run, class: Option<u16>, load: LinkLoad, now: Cycles) -> Choice {
        if run.links == 1 {
            return match self.first_free(run.first, class, now) {
                Ok(lane) => Choice::Lane(lane),
                Err(next) => Choice::Busy(next),
            };
        }
        let (mut at, mut ties) = (run.first, 1);
        let mut best = self.merit(run.first, class, load, now);
        for link in run.first + 1..run.first + run.links {
            let merit = self.merit(link, class, load, now);
            if merit < best {
                (at, ties, best) = (link, 1, merit);
            } else if merit == best {
                ties += 1;
            }
        }
        if best.held < self.busy_lanes_max(class) {
            return Choice::Links(at, ties, best);
        }
        let next = run
            .iter()
            .filter_map(|link| self.first_free(link, class, now).err());
        Choice::Busy(next.fold(NEVER, Cycles::min))
    }

    /// Return the lane (virtual channel) that a packet gets: the first free lane of the best link,
    /// where [`LinkTie`] decides among equal links. `Err` is the time at which a lane becomes free.
    #[inline(always)]
    fn select_lane(
        &self,
        choice: Choice,
        run: Run,
        class: Option<u16>,
        rule: Adaptive,
        now: Cycles,
        random: impl FnOnce() -> u64,
    ) -> Result<LaneId, Cycles> {
        let (mut link, ties, best) = match choice {
            Choice::Busy(next) => return Err(next),
            Choice::Lane(lane) => return Ok(lane),
            Choice::Links(at, ties, best) => (at, ties, best),
        };
        if ties > 1 && rule.tie == LinkTie::Random {
            let mut skip = pick(ties, random());
            while skip > 0 {
                link += 1;
                skip -= u32::from(self.merit(link, class, rule.load, now) == best);
            }
        } else if ties > 1 {
            let equals = run
                .iter()
                .filter(|&link| self.merit(link, class, rule.load, now) == best);
            let free = |link| self.get(link).transmitter;
            link = choose_equal(rule.tie, equals, free, random).unwrap_or(link);
        }
        self.first_free(link, class, now)
    }
}

/// State of circuit switching, apart from the state of links: only its limit per node.
#[derive(Debug, Clone)]
pub(super) struct Circuits {
    /// Maximum number of lanes (virtual channels) that the packets of a node may occupy on the
    /// links of the node.
    pub in_flight: u32,
}

impl SwitchingMethod for Circuits {
    /// True: a packet occupies a lane (virtual channel) longer than the link's transmitter.
    const LANES: bool = true;

    /// Return when a node can inject its next packet over the links of `run`.
    #[inline]
    fn links_free<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        header: &Header,
        run: Run,
        _message: MessageId,
        now: Cycles,
    ) -> Option<Cycles> {
        let all = core.routes.node_links(header.from);
        let class = class_of::<W>(header);
        (core.links).free_at(run, class, all, core.holding.in_flight, now)
    }

    /// Grant a new packet a free lane (virtual channel) of `run`. Return the time at which the
    /// packet starts.
    fn inject<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        run: Run,
        now: Cycles,
    ) -> Cycles {
        let lane = core.lane(core.packets.get(packet), run, now);
        core.grant(packet, lane.expect("a free lane was found"), run.first, now)
    }

    /// Handle a header that arrives and requests a link. If `alone`, no other header makes a
    /// request in this tick, and the header gets a free link at once; otherwise when the tick ends.
    #[inline]
    fn arrive<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        alone: bool,
        now: Cycles,
    ) {
        let group = core.packets.get(packet).run.first;
        let next_check = &mut core.links.get_mut(group).next_check;
        if *next_check == NextCheck::NOBODY {
            if alone {
                return core.request(packet, now);
            }
            *next_check = NextCheck::ALONE;
            core.requesting.push(packet);
            return;
        }
        // With several classes, the waiting headers may be of classes without free lanes, so the
        // new header may be served.
        if *next_check == NextCheck::ALONE || !W::PLAIN && next_check.is_later() {
            *next_check = NextCheck::TICK_ENDS;
            core.dirty_groups.push(group);
        }
        core.add_waiter(packet, now);
    }

    /// Handle a lane (virtual channel) that becomes free: check the headers that wait for its group
    /// of links.
    #[inline]
    fn wake<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, group: u32, alone: bool, now: Cycles) {
        let next_check = &mut core.links.get_mut(group).next_check;
        // If the next check is scheduled for another time, this event is outdated, and nothing
        // remains to be done: the header for which it was scheduled has been served.
        if *next_check == NextCheck::at(now) {
            *next_check = NextCheck::TICK_ENDS;
            if alone {
                core.arbitrate(group, now);
            } else {
                core.dirty_groups.push(group);
            }
        }
    }

    /// Never called, because circuits have no output buffers.
    fn wake_output<T: Copy, W: Routes>(_core: &mut Core<T, W, Self>, _link: u32, _now: Cycles) {
        unreachable!("circuits have no output buffers")
    }

    /// Serve the headers that requested links for which no other header waited; a header with
    /// competitors joins the waiting ones. Then grant lanes (virtual channels) that have become
    /// free.
    fn end_tick<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, now: Cycles) {
        let mut requesting = std::mem::take(&mut core.requesting);
        for packet in requesting.drain(..) {
            let group = core.packets.get(packet).run.first;
            if core.links.get(group).next_check == NextCheck::ALONE {
                core.request(packet, now);
            } else {
                core.add_waiter(packet, now);
            }
        }
        core.requesting = requesting;
        while let Some(group) = core.dirty_groups.pop() {
            core.arbitrate(group, now);
        }
    }

    /// Return the number of occupied lanes (virtual channels) of a link.
    fn occupied<T: Copy, W: Routes>(core: &Core<T, W, Self>, link: u32) -> u64 {
        let held = core.links.free(link).filter(|&free| free > core.now);
        held.count() as u64
    }

    /// Return 1: the load of waiting packets is their number.
    fn weight(_packet: &Packet) -> u64 {
        1
    }

    /// Read nothing: circuits have no further state to prefetch.
    fn prefetch(&self, _links: &Links, _lane: LaneId, _run: Run, _class: u16) -> u64 {
        0
    }
}

/// Return the class of channels of a packet, if there are several classes.
#[inline]
fn class_of<W: Routes>(header: &Header) -> Option<u16> {
    (!W::PLAIN).then_some(header.class)
}

impl<T: Copy, W: Routes> Core<T, W, Circuits> {
    /// Return the lane (virtual channel) that a packet gets now on one of the links of `run`. If no
    /// lane is free, return the time at which one becomes free, as far as known.
    #[inline]
    fn lane(&self, packet: &Packet, run: Run, now: Cycles) -> Result<LaneId, Cycles> {
        let random = || packet.random(self.seed);
        let rule = self.rules.adaptive;
        let class = class_of::<W>(&packet.header);
        let choice = self.links.choice(run, class, rule.load, now);
        self.links
            .select_lane(choice, run, class, rule, now, random)
    }

    /// Serve a header that requests links for which no other header waits, or add it to the waiting
    /// headers.
    #[inline]
    fn request(&mut self, packet: PacketId, now: Cycles) {
        let state = self.packets.get(packet);
        let (run, input) = (state.run, state.input);
        match self.lane(state, run, now) {
            Ok(lane) => {
                self.links.set_served(run.first, input);
                self.links.get_mut(run.first).next_check = NextCheck::NOBODY;
                self.grant(packet, lane, run.first, now);
            }
            Err(next) => {
                self.add_waiter(packet, now);
                self.check_at(run.first, next);
            }
        }
    }

    /// Add a packet to the packets whose headers wait for their group of links.
    fn add_waiter(&mut self, packet: PacketId, now: Cycles) {
        let state = self.packets.get(packet);
        self.groups[state.run.first as usize].waiting.push(Waiter {
            since: match self.rules.age.from {
                AgeFrom::Message => self.messages[state.message].generated,
                AgeFrom::Injection => state.injected,
                AgeFrom::Arrival | AgeFrom::Request => now,
            },
            input: state.input,
            packet,
        });
    }

    /// Schedule the check of a group of links for which headers wait, at the time its first lane
    /// (virtual channel) becomes free.
    #[inline]
    fn check_at(&mut self, group: u32, time: Cycles) {
        self.links.get_mut(group).next_check = NextCheck::at(time);
        if time < NEVER {
            self.queue.push(time, Event::new(Kind::Wake, 0, group));
        }
    }

    /// Grant lanes (virtual channels) of a group to waiting headers until no lane is free or no
    /// header waits.
    fn arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        let rule = self.rules.adaptive;
        let run = Run {
            first: group,
            links: self.groups[group as usize].links,
        };
        loop {
            if self.groups[group as usize].waiting.is_empty() {
                self.links.get_mut(group).next_check = NextCheck::NOBODY;
                return;
            }
            let tie_break = self.tie_break(group, now);
            let (links, packets) = (&self.links, &self.packets);
            let waiters = &mut self.groups[group as usize];
            let choice = |packet: PacketId| {
                let class = class_of::<W>(&packets.get(packet).header);
                links.choice(run, class, rule.load, now)
            };
            let busy = |packet: PacketId| match choice(packet) {
                Choice::Busy(next) => Some(next),
                Choice::Lane(_) | Choice::Links(..) => None,
            };
            // With one class of channels all waiting headers have the same best lane, so choose it
            // once.
            let shared = W::PLAIN.then(|| choice(waiters.waiting[0].packet));
            let index = match shared {
                Some(Choice::Busy(_)) => None,
                Some(_) => waiters.oldest(horizon, tie_break, |_| true),
                None => waiters.oldest(horizon, tie_break, |packet| busy(packet).is_none()),
            };
            let Some(index) = index else {
                let next = match shared {
                    Some(Choice::Busy(next)) => next,
                    _ => (waiters.waiting.iter())
                        .filter_map(|waiter| busy(waiter.packet))
                        .fold(NEVER, Cycles::min),
                };
                return self.check_at(group, next);
            };
            let Waiter { packet, input, .. } = waiters.waiting.swap_remove(index);
            let state = packets.get(packet);
            let (class, random) = (class_of::<W>(&state.header), || state.random(self.seed));
            let choice = shared.unwrap_or_else(|| choice(packet));
            let lane = links.select_lane(choice, run, class, rule, now, random);
            self.links.set_served(group, input);
            self.grant(packet, lane.expect("one is free"), group, now);
        }
    }

    /// Grant a lane (virtual channel) to a packet. Return the time at which the packet starts on
    /// the link.
    fn grant(&mut self, packet: PacketId, lane: LaneId, group: u32, now: Cycles) -> Cycles {
        let link = self.lanes.link(lane);
        let start = self.links.hold(lane, now);
        let end = self.links.ledger(link).end;
        let last = self.is_last(end);
        let state = self.packets.step(packet, Step { lane, group });
        let ticks = ticks_on(&self.rules, last, state, start);
        self.links.occupy(link, start, ticks);
        let length = self.length(link);
        if last {
            let tail = start + ticks + length;
            self.queue
                .push(tail, Event::new(Kind::Deliver, link, packet.number()));
            self.release(packet, tail + self.rules.acknowledge);
        } else {
            self.choose_next_links(packet, end);
            let time = start + self.rules.hop + length;
            self.queue
                .push(time, Event::new(Kind::Arrive, 0, packet.number()));
        }
        start
    }

    /// Free the lanes (virtual channels) along the path of the acknowledgement that starts back
    /// over the last link at `time`.
    fn release(&mut self, packet: PacketId, time: Cycles) {
        let hop = self.rules.acknowledge_hop;
        let path = self.packets.path(packet);
        let node = self.packets.get(packet).header.from;
        if self.large {
            black_box(self.links.prefetch_path(path) ^ self.nics[node as usize].ready);
        }
        let mut free = time;
        for &Step { lane, group } in path[1..].iter().rev() {
            free += self.length(self.lanes.link(lane));
            self.links.release(lane, free);
            if self.links.get_mut(group).next_check.advance_to(free) {
                self.queue.push(free, Event::new(Kind::Wake, 0, group));
            }
            free += hop;
        }
        free += self.length(self.lanes.link(path[0].lane));
        self.links.release(path[0].lane, free);
        let nic = &self.nics[node as usize];
        if !nic.turns.is_empty() {
            let time = nic.ready.max(free);
            self.schedule_injection(node, time);
        }
    }
}
