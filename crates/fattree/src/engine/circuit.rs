//! Circuits: a lane of each link is held until the acknowledgement has come back over it.

use super::event::{Event, Kind};
use super::group::Waiter;
use super::lanes::Lanes;
use super::packets::Packet;
use super::ways::{Run, one_of};
use super::{Engine, NEVER, Network};
use crate::rules::tie;
use isthmus_kernel::Cycles;
use std::cmp::Reverse;

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

/// The links that a packet may get, all equally good.
#[derive(Debug, Clone, Copy)]
struct Best {
    /// The first of them.
    at: u32,
    /// How many they are.
    ties: u32,
    /// What they have in common: free lanes, and when the transmitter is free.
    key: (Reverse<usize>, Cycles),
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
    fn key(&self, link: u32, now: Cycles) -> (Reverse<usize>, Cycles) {
        let free = self.of(link).iter().filter(|&&free| free <= now).count();
        (Reverse(free), self.start(link, now))
    }

    /// The best of a run of links: those with most free lanes, of those with the earliest free
    /// transmitter. `None` if there is no free lane.
    #[inline]
    fn best(&self, run: Run, now: Cycles) -> Option<Best> {
        let mut best = Best {
            at: run.first,
            ties: 1,
            key: self.key(run.first, now),
        };
        for at in run.first + 1..run.first + run.links {
            let key = self.key(at, now);
            if key < best.key {
                best = Best { at, ties: 1, key };
            } else if key == best.key {
                best.ties += 1;
            }
        }
        (best.key.0.0 > 0).then_some(best)
    }

    /// The lane that a packet gets: of the best links that by lot, there the first free one.
    #[inline]
    fn draw(&self, best: Best, now: Cycles, lot: impl FnOnce() -> u64) -> u32 {
        let mut link = best.at;
        if best.ties > 1 {
            let mut skip = one_of(best.ties, lot());
            while skip > 0 {
                link += 1;
                skip -= u32::from(self.key(link, now) == best.key);
            }
        }
        self.free_lane(link, now)
            .expect("the best have a free lane")
    }

    /// When the next lane of a run comes free, as far as known.
    #[inline]
    fn next_free(&self, run: Run, now: Cycles) -> Cycles {
        let lanes = run.iter().flat_map(|link| self.of(link)).copied();
        lanes.filter(|&free| free > now).fold(NEVER, Cycles::min)
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

    /// The lane of one of these links that a packet gets now, if one is free.
    #[inline]
    fn circuit_lane(&mut self, packet: u32, run: Run, now: Cycles) -> Option<u32> {
        let seed = self.seed;
        let &Packet {
            from,
            number,
            links,
            ..
        } = self.packets.get(packet);
        let network = self.circuits();
        let best = network.best(run, now)?;
        let lot = || tie(seed, from, number, u32::from(links));
        Some(network.draw(best, now, lot))
    }

    /// Serves the only header that asks in this tick, or lets it wait. If others wait already,
    /// nothing is free: what comes free wakes them.
    pub(super) fn circuit_ask_alone(&mut self, run: Run, waiter: Waiter, now: Cycles) {
        let group = &mut self.groups[run.first as usize];
        if !group.waiting.is_empty() {
            group.waiting.push(waiter);
            return;
        }
        let Some(lane) = self.circuit_lane(waiter.packet, run, now) else {
            self.groups[run.first as usize].waiting.push(waiter);
            let time = self.circuits().next_free(run, now);
            self.wakes[run.first as usize] = NEVER;
            return self.wake_at(run.first, time);
        };
        self.groups[run.first as usize].serve(waiter.input);
        self.circuit_grant(waiter.packet, lane, now);
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
            let Some(best) = network.best(run, now) else {
                let time = network.next_free(run, now);
                return self.wake_at(group, time);
            };
            let index = waiters.oldest(horizon, |_| true);
            let packet = waiters.take(index.expect("there are waiting headers"));
            let state = self.packets.get(packet);
            let lot = || tie(self.seed, state.from, state.number, u32::from(state.links));
            let lane = network.draw(best, now, lot);
            self.circuit_grant(packet, lane, now);
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
            let group = self.group_of[network.lanes.link(lane) as usize];
            let wake = &mut self.wakes[group as usize];
            if free < *wake {
                *wake = free;
                self.queue.push(free, Event::new(Kind::Wake, 0, group));
            }
            free += hop;
        }
        network.free[path[0] as usize] = free;
        let node = self.packets.get(packet).from;
        let nic = &self.nics[node as usize];
        if !nic.run.is_empty() {
            let time = nic.ready.max(free);
            self.inject_at(node, time);
        }
    }
}
