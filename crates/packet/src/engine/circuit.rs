//! Circuits: a lane of each link is held until the acknowledgement has come back over it.
//!
//! While headers wait for a group of a plain network none of its lanes is free, and the group is
//! checked when the first comes free. So only a header that finds no other waiting may be served
//! when it asks. With several classes of channels, the waiting headers may be of a class without a
//! free lane, and each request has the group checked when the tick ends.

use super::core::{Core, Holding, NEVER, ticks_on};
use super::equals::one_of_equals;
use super::event::{Event, Kind};
use super::group::Waiter;
use super::lanes::LaneId;
use super::links::{Links, Look};
use super::messages::MessageId;
use super::packets::{Packet, PacketId, Step};
use crate::readings::{Adaptive, AgeFrom, LinkLoad, LinkTie};
use crate::routes::{Header, Run, Routes, drawn};
use isthmus_kernel::{Cycles, Id};
use std::hint::black_box;

/// What a run of links has for a packet.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// Nothing; a lane comes free at this time, as far as known.
    Busy(Cycles),
    /// This lane.
    Lane(LaneId),
    /// A lane of any of several links that are equally good: the first of them, how many, and
    /// their merit.
    Links(u32, u32, Merit),
}

/// How good a link is for a packet, the best being the smallest: the fewer of its lanes are held
/// and, among as many, the sooner its transmitter is free. With [`LinkLoad::Idle`] it does not count
/// how many are held, unless all are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Merit {
    held: u32,
    start: Cycles,
}

/// The links of a circuit-switched network.
impl Links {
    /// When a node can inject over some of its links, of whose lanes `in_flight` may be held, or
    /// should be asked again, as far as known.
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

    #[inline(always)]
    fn merit(&self, link: u32, class: Option<u16>, load: LinkLoad, now: Cycles) -> Merit {
        let held = self.not_free(link, class, now);
        Merit {
            held: match load {
                LinkLoad::Idle if held < self.most_not_free(class) => 0,
                _ => held,
            },
            start: self.get(link).transmitter.max(now),
        }
    }

    /// What these links have for a packet.
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
        if best.held < self.most_not_free(class) {
            return Choice::Links(at, ties, best);
        }
        let next = run
            .iter()
            .filter_map(|link| self.first_free(link, class, now).err());
        Choice::Busy(next.fold(NEVER, Cycles::min))
    }

    /// The lane that a packet gets: of the best links that by lot, or by the rule for those, there
    /// the first free one.
    #[inline(always)]
    fn draw(
        &self,
        choice: Choice,
        run: Run,
        class: Option<u16>,
        rule: Adaptive,
        now: Cycles,
        lot: impl FnOnce() -> u64,
    ) -> Result<LaneId, Cycles> {
        let (mut link, ties, best) = match choice {
            Choice::Busy(next) => return Err(next),
            Choice::Lane(lane) => return Ok(lane),
            Choice::Links(at, ties, best) => (at, ties, best),
        };
        if ties > 1 && rule.tie == LinkTie::Random {
            let mut skip = drawn(ties, lot());
            while skip > 0 {
                link += 1;
                skip -= u32::from(self.merit(link, class, rule.load, now) == best);
            }
        } else if ties > 1 {
            let equals = run
                .iter()
                .filter(|&link| self.merit(link, class, rule.load, now) == best);
            let free = |link| self.get(link).transmitter;
            link = one_of_equals(rule.tie, equals, free, lot).unwrap_or(link);
        }
        self.first_free(link, class, now)
    }
}

/// A network of circuits.
#[derive(Debug, Clone)]
pub(super) struct Circuits {
    /// Lanes that a node's packets may hold of its links.
    pub in_flight: u32,
}

impl Holding for Circuits {
    const LANES: bool = true;

    #[inline]
    fn links_free<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        header: &Header,
        run: Run,
        _message: MessageId,
        now: Cycles,
    ) -> Option<Cycles> {
        let all = core.routes.of_node(header.from);
        let class = class_of::<W>(header);
        (core.links).free_at(run, class, all, core.holding.in_flight, now)
    }

    fn inject<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        run: Run,
        now: Cycles,
    ) -> Cycles {
        let lane = core.lane(core.packets.get(packet), run, now);
        core.grant(packet, lane.expect("a free lane was found"), run.first, now)
    }

    /// If it is not alone in this tick, others may still ask for the same: it is served when the tick
    /// ends.
    #[inline]
    fn arrive<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        alone: bool,
        now: Cycles,
    ) {
        let group = core.packets.get(packet).run.first;
        let look = &mut core.links.get_mut(group).look;
        if *look == Look::NOBODY {
            if alone {
                return core.ask(packet, now);
            }
            *look = Look::ALONE;
            core.asking.push(packet);
            return;
        }
        // Those who wait may be of classes that have no free lanes.
        if *look == Look::ALONE || !W::PLAIN && look.is_later() {
            *look = Look::TICK_ENDS;
            core.dirty_groups.push(group);
        }
        core.wait(packet, now);
    }

    #[inline]
    fn wake<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, group: u32, alone: bool, now: Cycles) {
        let look = &mut core.links.get_mut(group).look;
        // If it is to be checked later, the waiting header has been served since.
        if *look == Look::at(now) {
            *look = Look::TICK_ENDS;
            if alone {
                core.arbitrate(group, now);
            } else {
                core.dirty_groups.push(group);
            }
        }
    }

    fn send<T: Copy, W: Routes>(_core: &mut Core<T, W, Self>, _link: u32, _now: Cycles) {
        unreachable!("circuits have no output buffers")
    }

    /// Headers that have asked while nobody waited are served, or wait beside those that have asked
    /// for the same; then lanes that have come free are given away.
    fn settle<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, now: Cycles) {
        let mut asking = std::mem::take(&mut core.asking);
        for packet in asking.drain(..) {
            let group = core.packets.get(packet).run.first;
            if core.links.get(group).look == Look::ALONE {
                core.ask(packet, now);
            } else {
                core.wait(packet, now);
            }
        }
        core.asking = asking;
        while let Some(group) = core.dirty_groups.pop() {
            core.arbitrate(group, now);
        }
    }

    fn taken<T: Copy, W: Routes>(core: &Core<T, W, Self>, link: u32) -> u64 {
        let held = core.links.free(link).filter(|&free| free > core.now);
        held.count() as u64
    }

    fn weight(_packet: &Packet) -> u64 {
        1
    }

    fn call(&self, _links: &Links, _lane: LaneId, _run: Run, _class: u16) -> u64 {
        0
    }
}

/// The class of channels that a packet may take, if there are several.
#[inline]
fn class_of<W: Routes>(header: &Header) -> Option<u16> {
    (!W::PLAIN).then_some(header.class)
}

impl<T: Copy, W: Routes> Core<T, W, Circuits> {
    /// The lane of one of these links that a packet gets now, or when one comes free, as far as
    /// known.
    #[inline]
    fn lane(&self, packet: &Packet, run: Run, now: Cycles) -> Result<LaneId, Cycles> {
        let lot = || packet.lot(self.seed);
        let rule = self.rules.adaptive;
        let class = class_of::<W>(&packet.header);
        let choice = self.links.choice(run, class, rule.load, now);
        self.links.draw(choice, run, class, rule, now, lot)
    }

    /// Serves a header that asks for links for which nobody waits, or lets it wait.
    #[inline]
    fn ask(&mut self, packet: PacketId, now: Cycles) {
        let state = self.packets.get(packet);
        let (run, input) = (state.run, state.input);
        match self.lane(state, run, now) {
            Ok(lane) => {
                self.links.serve(run.first, input);
                self.links.get_mut(run.first).look = Look::NOBODY;
                self.grant(packet, lane, run.first, now);
            }
            Err(next) => {
                self.wait(packet, now);
                self.look_at(run.first, next);
            }
        }
    }

    /// A header joins those that wait for its links.
    fn wait(&mut self, packet: PacketId, now: Cycles) {
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

    /// A group for which headers wait is to be looked at when its first lane comes free.
    #[inline]
    fn look_at(&mut self, group: u32, time: Cycles) {
        self.links.get_mut(group).look = Look::at(time);
        if time < NEVER {
            self.queue.push(time, Event::new(Kind::Wake, 0, group));
        }
    }

    /// Gives lanes of a group to waiting headers as long as there are any.
    fn arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        let rule = self.rules.adaptive;
        let run = Run {
            first: group,
            links: self.groups[group as usize].links,
        };
        loop {
            if self.groups[group as usize].waiting.is_empty() {
                self.links.get_mut(group).look = Look::NOBODY;
                return;
            }
            let turn = self.turn(group, now);
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
            // In a plain network all have the same choice.
            let shared = W::PLAIN.then(|| choice(waiters.waiting[0].packet));
            let index = match shared {
                Some(Choice::Busy(_)) => None,
                Some(_) => waiters.oldest(horizon, turn, |_| true),
                None => waiters.oldest(horizon, turn, |packet| busy(packet).is_none()),
            };
            let Some(index) = index else {
                let next = match shared {
                    Some(Choice::Busy(next)) => next,
                    _ => (waiters.waiting.iter())
                        .filter_map(|waiter| busy(waiter.packet))
                        .fold(NEVER, Cycles::min),
                };
                return self.look_at(group, next);
            };
            let Waiter { packet, input, .. } = waiters.waiting.swap_remove(index);
            let state = packets.get(packet);
            let (class, lot) = (class_of::<W>(&state.header), || state.lot(self.seed));
            let choice = shared.unwrap_or_else(|| choice(packet));
            let lane = links.draw(choice, run, class, rule, now, lot);
            self.links.serve(group, input);
            self.grant(packet, lane.expect("one is free"), group, now);
        }
    }

    /// A packet gets a lane. Answers when it starts on the link.
    fn grant(&mut self, packet: PacketId, lane: LaneId, group: u32, now: Cycles) -> Cycles {
        let link = self.lanes.link(lane);
        let start = self.links.hold(lane, now);
        let end = self.links.ledger(link).end;
        let last = self.is_last(end);
        let state = self.packets.step(packet, Step { lane, group });
        let ticks = ticks_on(&self.rules, last, state, start);
        self.links.take(link, start, ticks);
        let length = self.length(link);
        if last {
            let tail = start + ticks + length;
            self.queue
                .push(tail, Event::new(Kind::Deliver, link, packet.number()));
            self.release(packet, tail + self.rules.acknowledge);
        } else {
            self.head_for(packet, end);
            let time = start + self.rules.hop + length;
            self.queue
                .push(time, Event::new(Kind::Arrive, 0, packet.number()));
        }
        start
    }

    /// The acknowledgement, on the last link at `time`, frees the lanes on its way back.
    fn release(&mut self, packet: PacketId, time: Cycles) {
        let hop = self.rules.acknowledge_hop;
        let path = self.packets.path(packet);
        let node = self.packets.get(packet).header.from;
        if self.large {
            black_box(self.links.call_path(path) ^ self.nics[node as usize].ready);
        }
        let mut free = time;
        for &Step { lane, group } in path[1..].iter().rev() {
            free += self.length(self.lanes.link(lane));
            self.links.release(lane, free);
            if self.links.get_mut(group).look.sooner(free) {
                self.queue.push(free, Event::new(Kind::Wake, 0, group));
            }
            free += hop;
        }
        free += self.length(self.lanes.link(path[0].lane));
        self.links.release(path[0].lane, free);
        let nic = &self.nics[node as usize];
        if !nic.turns.is_empty() {
            let time = nic.ready.max(free);
            self.inject_at(node, time);
        }
    }
}
