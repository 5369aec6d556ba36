//! Circuits: a lane of each link is held until the acknowledgement has come back over it.

use super::event::{Event, Kind};
use super::group::Waiter;
use super::links::{Asked, Links};
use super::packets::Packet;
use super::ways::{Run, one_of};
use super::{Engine, NEVER, ticks_on};
use crate::rules::tie;
use isthmus_kernel::Cycles;

/// What a run of links has for a packet.
#[derive(Debug, Clone, Copy)]
enum Choice {
    /// Nothing; a lane comes free at this time, as far as known.
    Busy(Cycles),
    /// This lane.
    Lane(u32),
    /// A lane of any of several links that are equally good: the first of them, how many, and
    /// their merit.
    Links(u32, u32, Merit),
}

/// How good a link is for a packet, the best being the smallest: the fewer of its lanes are held
/// and, among as many, the sooner its transmitter is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Merit {
    held: u32,
    start: Cycles,
}

/// The links of a circuit-switched network.
impl Links {
    /// When the header of a packet that gets the link now starts.
    #[inline]
    fn start(&self, link: u32, now: Cycles) -> Cycles {
        self.get(link).transmitter.max(now)
    }

    /// When a node can inject over some of its links, of whose lanes `in_flight` may be held, or
    /// should be asked again, as far as known.
    #[inline]
    pub fn free_at(&self, run: Run, all: Run, in_flight: u32, now: Cycles) -> Option<Cycles> {
        let (mut held, mut next) = (0, NEVER);
        for link in all.iter() {
            for free in self.free(link) {
                if free > now {
                    held += 1;
                    next = next.min(free);
                }
            }
        }
        if held < in_flight && run.iter().any(|link| self.free_lane(link, now).is_some()) {
            return Some(now);
        }
        (next < NEVER).then_some(next)
    }

    /// The first free lane of a link.
    #[inline]
    fn free_lane(&self, link: u32, now: Cycles) -> Option<u32> {
        let channel = self.free(link).position(|free| free <= now)?;
        Some(self.lanes.lane(link, channel as u32))
    }

    #[inline]
    fn merit(&self, link: u32, now: Cycles) -> Merit {
        let held = (self.free(link)).fold(0, |held, free| held + u32::from(free > now));
        let start = self.start(link, now);
        Merit { held, start }
    }

    /// What these links have for a packet: the best are those with most free lanes, of those with
    /// the earliest free transmitter.
    #[inline]
    fn choice(&self, run: Run, now: Cycles) -> Choice {
        if run.links == 1 {
            let mut next = NEVER;
            for (channel, free) in self.free(run.first).enumerate() {
                if free <= now {
                    return Choice::Lane(self.lanes.lane(run.first, channel as u32));
                }
                next = next.min(free);
            }
            return Choice::Busy(next);
        }
        let (mut at, mut ties) = (run.first, 1);
        let mut best = self.merit(run.first, now);
        for link in run.first + 1..run.first + run.links {
            let merit = self.merit(link, now);
            if merit < best {
                (at, ties, best) = (link, 1, merit);
            } else if merit == best {
                ties += 1;
            }
        }
        if best.held == self.lanes.channels() {
            let times = run.iter().flat_map(|link| self.free(link));
            return Choice::Busy(times.fold(NEVER, Cycles::min));
        }
        Choice::Links(at, ties, best)
    }

    /// The lane that a packet gets: of the best links that by lot, there the first free one.
    #[inline]
    fn draw(&self, choice: Choice, now: Cycles, lot: impl FnOnce() -> u64) -> Result<u32, Cycles> {
        let (mut link, ties, best) = match choice {
            Choice::Busy(next) => return Err(next),
            Choice::Lane(lane) => return Ok(lane),
            Choice::Links(at, ties, best) => (at, ties, best),
        };
        if ties > 1 {
            let mut skip = one_of(ties, lot());
            while skip > 0 {
                link += 1;
                skip -= u32::from(self.merit(link, now) == best);
            }
        }
        let lane = self.free_lane(link, now);
        Ok(lane.expect("the best have a free lane"))
    }
}

impl<T: Copy> Engine<T> {
    /// Gives a new packet a lane of one of these links, of which one is free. Answers when it
    /// starts.
    pub(super) fn circuit_inject(&mut self, packet: u32, run: Run, now: Cycles) -> Cycles {
        let lane = self.circuit_lane(packet, run, now);
        self.circuit_grant(packet, lane.expect("a free lane was found"), now)
    }

    /// The lane of one of these links that a packet gets now, or when one comes free, as far as
    /// known.
    #[inline]
    fn circuit_lane(&mut self, packet: u32, run: Run, now: Cycles) -> Result<u32, Cycles> {
        let seed = self.seed;
        let &Packet {
            from,
            number,
            links,
            ..
        } = self.packets.get(packet);
        let lot = || tie(seed, from, number, u32::from(links));
        self.links.draw(self.links.choice(run, now), now, lot)
    }

    /// Serves the only header that asks in this tick, or lets it wait. If others wait already,
    /// nothing is free: what comes free wakes them.
    pub(super) fn circuit_ask_alone(&mut self, run: Run, waiter: Waiter, now: Cycles) {
        if self.links.get(run.first).wake != 0 {
            self.groups[run.first as usize].waiting.push(waiter);
            return;
        }
        match self.circuit_lane(waiter.packet, run, now) {
            Ok(lane) => {
                self.links.get_mut(run.first).served = waiter.input as u16;
                self.circuit_grant(waiter.packet, lane, now);
            }
            Err(next) => {
                self.groups[run.first as usize].waiting.push(waiter);
                self.links.get_mut(run.first).wake = NEVER;
                self.wake_at(run.first, next);
            }
        }
    }

    /// A header asks for links in a tick in which others may ask for the same.
    pub(super) fn circuit_ask(&mut self, run: Run, waiter: Waiter) {
        let link = self.links.get_mut(run.first);
        if link.wake == 0 && link.asked == Asked::No {
            link.asked = Asked::Alone;
            self.asking.push((run, waiter));
        } else {
            self.groups[run.first as usize].waiting.push(waiter);
            self.look_at_group(run.first);
        }
    }

    /// At the end of a tick: headers that have asked while nobody waited are served, or wait
    /// beside those that have asked for the same.
    pub(super) fn circuit_settle(&mut self, now: Cycles) {
        let mut asking = std::mem::take(&mut self.asking);
        for (run, waiter) in asking.drain(..) {
            let link = self.links.get_mut(run.first);
            if link.asked == Asked::Alone {
                link.asked = Asked::No;
                self.circuit_ask_alone(run, waiter, now);
            } else {
                self.groups[run.first as usize].waiting.push(waiter);
            }
        }
        self.asking = asking;
    }

    /// Gives lanes of a group to waiting headers as long as there are any.
    pub(super) fn circuit_arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        let run = Run {
            first: group,
            links: self.groups[group as usize].links,
        };
        loop {
            let waiters = &mut self.groups[group as usize];
            if waiters.waiting.is_empty() {
                self.links.get_mut(group).wake = 0;
                return;
            }
            let choice = self.links.choice(run, now);
            if let Choice::Busy(next) = choice {
                return self.wake_at(group, next);
            }
            let link = self.links.get_mut(group);
            let index = waiters.oldest(horizon, link.served, |_| true);
            let index = index.expect("there are waiting headers");
            let Waiter { packet, input, .. } = waiters.waiting.swap_remove(index);
            link.served = input as u16;
            let state = self.packets.get(packet);
            let lot = || tie(self.seed, state.from, state.number, u32::from(state.links));
            let lane = self.links.draw(choice, now, lot);
            self.circuit_grant(packet, lane.expect("one is free"), now);
        }
    }

    /// A packet gets a lane. Answers when it starts on the link.
    fn circuit_grant(&mut self, packet: u32, lane: u32, now: Cycles) -> Cycles {
        let link = self.lanes.link(lane);
        let start = self.links.start(link, now);
        self.links.hold(lane, now);
        self.packets.step(packet, lane);
        let record = self.links.get_mut(link);
        let ticks = ticks_on(&self.rules, record, self.packets.get(packet), start);
        record.take(start, ticks);
        match record.node() {
            None => {
                let time = start + self.rules.hop;
                self.queue.push(time, Event::new(Kind::Arrive, 0, packet));
            }
            Some(_) => {
                let tail = start + ticks;
                self.queue
                    .push(tail, Event::new(Kind::Deliver, link, packet));
                self.release(packet, tail + self.rules.acknowledge);
            }
        }
        start
    }

    /// The acknowledgement, on the last link at `time`, frees the lanes on its way back.
    fn release(&mut self, packet: u32, time: Cycles) {
        let hop = self.rules.acknowledge_hop;
        let path = self.packets.path(packet);
        let mut free = time;
        for &lane in path[1..].iter().rev() {
            self.links.release(lane, free);
            let group = self.links.group_of(self.lanes.link(lane));
            let wake = &mut self.links.get_mut(group).wake;
            if free < *wake {
                *wake = free;
                self.queue.push(free, Event::new(Kind::Wake, 0, group));
            }
            free += hop;
        }
        self.links.release(path[0], free);
        let node = self.packets.get(packet).from;
        let nic = &self.nics[node as usize];
        if !nic.run.is_empty() {
            let time = nic.ready.max(free);
            self.inject_at(node, time);
        }
    }
}
