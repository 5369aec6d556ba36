//! Circuits: a lane of each link is held until the acknowledgement has come back over it.

use super::event::{Event, Kind};
use super::group::Waiter;
use super::lanes::Lanes;
use super::packets::Packet;
use super::ways::{Run, one_of};
use super::{Engine, NEVER, Network};
use crate::rules::tie;
use isthmus_kernel::Cycles;

/// The links of a circuit-switched network.
#[derive(Debug, Clone)]
pub(super) struct Circuits {
    /// For each lane, from when on it is free; never while that is not known.
    free: Vec<Cycles>,
    /// For each link, from when on its transmitter is free.
    transmitter: Vec<Cycles>,
    lanes: Lanes,
    /// Lanes that a node's packets may hold of its links.
    in_flight: u32,
}

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

impl Circuits {
    pub fn new(links: u32, lanes: Lanes, in_flight: u32) -> Self {
        Self {
            free: vec![0; lanes.count(links)],
            transmitter: vec![0; links as usize],
            lanes,
            in_flight,
        }
    }

    pub fn clear(&mut self) {
        self.free.fill(0);
        self.transmitter.fill(0);
    }

    /// From when on each transmitter is free.
    pub fn transmitters(&self) -> &[Cycles] {
        &self.transmitter
    }

    /// From when on each lane is free; never while that is not known.
    pub fn lanes_free(&self) -> &[Cycles] {
        &self.free
    }

    /// When the header of a packet that gets the link now starts.
    #[inline]
    fn start(&self, link: u32, now: Cycles) -> Cycles {
        self.transmitter[link as usize].max(now)
    }

    /// The times of the lanes of a link.
    #[inline]
    fn of(&self, link: u32) -> &[Cycles] {
        &self.free[self.lanes.of(link)]
    }

    /// When a node can inject over some of its links, or should be asked again, as far as known.
    #[inline]
    pub fn free_at(&self, run: Run, all: Run, now: Cycles) -> Option<Cycles> {
        let (mut held, mut next) = (0, NEVER);
        for link in all.iter() {
            for &free in self.of(link) {
                if free > now {
                    held += 1;
                    next = next.min(free);
                }
            }
        }
        if held < self.in_flight && run.iter().any(|link| self.free_lane(link, now).is_some()) {
            return Some(now);
        }
        (next < NEVER).then_some(next)
    }

    /// The first free lane of a link.
    #[inline]
    fn free_lane(&self, link: u32, now: Cycles) -> Option<u32> {
        let channel = self.of(link).iter().position(|&free| free <= now)?;
        Some(self.lanes.lane(link, channel as u32))
    }

    #[inline]
    fn merit(&self, link: u32, now: Cycles) -> Merit {
        let mut held = 0;
        for &free in self.of(link) {
            held += u32::from(free > now);
        }
        let start = self.start(link, now);
        Merit { held, start }
    }

    /// What these links have for a packet: the best are those with most free lanes, of those with
    /// the earliest free transmitter.
    #[inline]
    fn choice(&self, run: Run, now: Cycles) -> Choice {
        if run.links == 1 {
            let mut next = NEVER;
            for (channel, &free) in self.of(run.first).iter().enumerate() {
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
            let times = run.iter().flat_map(|link| self.of(link));
            return Choice::Busy(times.fold(NEVER, |first, &free| first.min(free)));
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
    #[inline]
    fn circuits(&mut self) -> &mut Circuits {
        match &mut self.network {
            Network::Circuit(network) => network,
            Network::CutThrough(_) => unreachable!("events of a circuit-switched network"),
        }
    }

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
        let network = self.circuits();
        let lot = || tie(seed, from, number, u32::from(links));
        network.draw(network.choice(run, now), now, lot)
    }

    /// Serves the only header that asks in this tick, or lets it wait. If others wait already,
    /// nothing is free: what comes free wakes them.
    pub(super) fn circuit_ask_alone(&mut self, run: Run, waiter: Waiter, now: Cycles) {
        let group = &mut self.groups[run.first as usize];
        if !group.waiting.is_empty() {
            group.waiting.push(waiter);
            return;
        }
        match self.circuit_lane(waiter.packet, run, now) {
            Ok(lane) => {
                self.groups[run.first as usize].serve(waiter.input);
                self.circuit_grant(waiter.packet, lane, now);
            }
            Err(next) => {
                self.groups[run.first as usize].waiting.push(waiter);
                self.wakes[run.first as usize] = NEVER;
                self.wake_at(run.first, next);
            }
        }
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
                self.wakes[group as usize] = 0;
                return;
            }
            let Network::Circuit(network) = &self.network else {
                unreachable!("a circuit-switched network")
            };
            let choice = network.choice(run, now);
            if let Choice::Busy(next) = choice {
                return self.wake_at(group, next);
            }
            let index = waiters.oldest(horizon, |_| true);
            let packet = waiters.take(index.expect("there are waiting headers"));
            let state = self.packets.get(packet);
            let lot = || tie(self.seed, state.from, state.number, u32::from(state.links));
            let lane = network.draw(choice, now, lot);
            self.circuit_grant(packet, lane.expect("one is free"), now);
        }
    }

    /// A packet gets a lane. Answers when it starts on the link.
    fn circuit_grant(&mut self, packet: u32, lane: u32, now: Cycles) -> Cycles {
        let network = self.circuits();
        let link = network.lanes.link(lane);
        let start = network.start(link, now);
        network.free[lane as usize] = NEVER;
        self.packets.step(packet, lane);
        let state = self.packets.get(packet);
        let ticks = self.ticks_on(link, state, start);
        self.counters.busy[link as usize] += ticks;
        self.counters.packets[link as usize] += 1;
        let held = &mut self.counters.held[link as usize];
        *held = held.wrapping_sub(now);
        self.circuits().transmitter[link as usize] = start + ticks;
        match self.ways.node_at(link) {
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
        let Network::Circuit(network) = &mut self.network else {
            unreachable!("a circuit-switched network")
        };
        let hop = self.rules.acknowledge_hop;
        let path = self.packets.path(packet);
        let mut free = time;
        for &lane in path[1..].iter().rev() {
            network.free[lane as usize] = free;
            let link = network.lanes.link(lane) as usize;
            self.counters.held[link] = self.counters.held[link].wrapping_add(free);
            let group = self.group_of[link];
            let wake = &mut self.wakes[group as usize];
            if free < *wake {
                *wake = free;
                self.queue.push(free, Event::new(Kind::Wake, 0, group));
            }
            free += hop;
        }
        network.free[path[0] as usize] = free;
        let first = &mut self.counters.held[network.lanes.link(path[0]) as usize];
        *first = first.wrapping_add(free);
        let node = self.packets.get(packet).from;
        let nic = &self.nics[node as usize];
        if !nic.run.is_empty() {
            let time = nic.ready.max(free);
            self.inject_at(node, time);
        }
    }
}
