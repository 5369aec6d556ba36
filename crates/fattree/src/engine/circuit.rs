//! Circuits: a lane of each link is held until the acknowledgement has come back over it.

use super::event::{Event, Kind};
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
    channels: u32,
    /// Lanes that a node's packets may hold of its links.
    in_flight: u32,
}

impl Circuits {
    pub fn new(links: u32, channels: u32, in_flight: u32) -> Self {
        Self {
            free: vec![0; (links * channels) as usize],
            transmitter: vec![0; links as usize],
            channels,
            in_flight,
        }
    }

    pub fn clear(&mut self) {
        self.free.fill(0);
        self.transmitter.fill(0);
    }

    /// When the header of a packet that gets the link now starts.
    #[inline]
    pub fn start(&self, link: u32, now: Cycles) -> Cycles {
        self.transmitter[link as usize].max(now)
    }

    #[inline]
    fn lanes(&self, link: u32) -> &[Cycles] {
        let begin = (link * self.channels) as usize;
        &self.free[begin..begin + self.channels as usize]
    }

    /// The lanes of a run of links.
    #[inline]
    fn lanes_of(&self, run: Run) -> &[Cycles] {
        let begin = (run.first * self.channels) as usize;
        &self.free[begin..begin + (run.links * self.channels) as usize]
    }

    /// When a node can inject over some of its links, or should be asked again, as far as known.
    #[inline]
    pub fn free_at(&self, run: Run, all: Run, now: Cycles) -> Option<Cycles> {
        let (mut held, mut next) = (0, NEVER);
        for &free in self.lanes_of(all) {
            if free > now {
                held += 1;
                next = next.min(free);
            }
        }
        if held < self.in_flight && self.lanes_of(run).iter().any(|&free| free <= now) {
            return Some(now);
        }
        (next < NEVER).then_some(next)
    }

    /// The first free lane of a link.
    #[inline]
    fn free_lane(&self, link: u32, now: Cycles) -> Option<u32> {
        let channel = self.lanes(link).iter().position(|&free| free <= now)?;
        Some(link * self.channels + channel as u32)
    }

    /// The lane that a packet gets: on the link with most free lanes, of those with the earliest
    /// free transmitter, of those by lot; there the first.
    #[inline]
    fn choose(&self, run: Run, now: Cycles, lot: impl FnOnce() -> u64) -> Option<u32> {
        let Run { first, links } = run;
        if links == 1 {
            return self.free_lane(first, now);
        }
        let key = |link: u32| {
            let lanes = self.lanes(link).iter();
            let free = lanes.filter(|&&free| free <= now).count();
            (Reverse(free), self.start(link, now))
        };
        let mut best = key(first);
        let (mut at, mut ties) = (first, 1);
        for link in first + 1..first + links {
            let other = key(link);
            if other < best {
                best = other;
                at = link;
                ties = 1;
            } else if other == best {
                ties += 1;
            }
        }
        if best.0.0 == 0 {
            return None;
        }
        if ties > 1 {
            let skip = one_of(ties, lot()) as usize;
            let mut equal = (at..first + links).filter(|&link| key(link) == best);
            at = equal.nth(skip).expect("as many as were counted");
        }
        self.free_lane(at, now)
    }

    /// When the next lane of a run comes free, as far as known.
    #[inline]
    fn next_free(&self, run: Run, now: Cycles) -> Cycles {
        let lanes = self.lanes_of(run).iter().copied();
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

    /// Gives a new packet a lane of one of these links, of which one is free. Answers when it starts.
    pub(super) fn circuit_inject(&mut self, packet: u32, run: Run, now: Cycles) -> Cycles {
        let &Packet { from, number, .. } = self.packets.get(packet);
        let seed = self.seed;
        let lot = || tie(seed, from, number, 0);
        let lane = self.circuits().choose(run, now, lot);
        self.circuit_grant(packet, lane.expect("a free lane was found"), now)
    }

    /// Gives lanes of a group to waiting headers as long as there are any.
    pub(super) fn circuit_arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        loop {
            let Network::Circuit(network) = &self.network else {
                unreachable!("a circuit-switched network")
            };
            let waiters = &mut self.groups[group as usize];
            let Some(index) = waiters.oldest(horizon, |_| true) else {
                return;
            };
            let packet = waiters.waiting[index].packet;
            let state = self.packets.get(packet);
            let lot = || tie(self.seed, state.from, state.number, u32::from(state.links));
            let run = Run {
                first: group,
                links: waiters.links,
            };
            let Some(lane) = network.choose(run, now, lot) else {
                let time = network.next_free(run, now);
                return self.wake_at(group, time);
            };
            waiters.take(index);
            self.circuit_grant(packet, lane, now);
        }
    }

    /// A packet gets a lane. Answers when it starts on the link.
    fn circuit_grant(&mut self, packet: u32, lane: u32, now: Cycles) -> Cycles {
        let network = self.circuits();
        let link = lane / network.channels;
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
            let group = self.group_of[(lane / network.channels) as usize];
            let waiters = &mut self.groups[group as usize];
            if !waiters.waiting.is_empty() && free < waiters.wake {
                waiters.wake = free;
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
