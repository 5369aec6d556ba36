//! Circuits: a lane of each link is held until the acknowledgement has come back over it.

use super::event::{Event, Kind};
use super::{Engine, NEVER, Network};
use crate::fabric::End;
use crate::rules::tie;
use isthmus_kernel::Cycles;

/// The links of a circuit-switched network.
#[derive(Debug, Clone)]
pub(super) struct Circuits {
    /// For each lane, from when on it is free; never while that is not known.
    free: Vec<Cycles>,
    /// For each link, from when on its transmitter is free.
    transmitter: Vec<Cycles>,
    channels: u32,
    /// Lanes of a node's link that its packets may hold.
    in_flight: u32,
}

impl Circuits {
    pub fn new(links: u32, channels: u32, in_flight: u32) -> Self {
        Self {
            free: vec![0; (links * channels) as usize],
            transmitter: vec![0; links as usize],
            channels,
            in_flight: in_flight.min(channels),
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

    /// When the first lane of a node's link is free, if that is known.
    #[inline]
    pub fn first_lane_free(&self, node: u32) -> Option<Cycles> {
        let lanes = &self.lanes(node)[..self.in_flight as usize];
        let time = lanes.iter().copied().fold(NEVER, Cycles::min);
        (time < NEVER).then_some(time)
    }

    /// The first free lane of a link.
    #[inline]
    fn free_lane(&self, link: u32, now: Cycles) -> Option<u32> {
        let channel = self.lanes(link).iter().position(|&free| free <= now)?;
        Some(link * self.channels + channel as u32)
    }

    /// The link of a group that a packet gets: most free lanes, earliest free transmitter, lot.
    #[inline]
    fn choose(&self, group: u32, links: u32, now: Cycles, lot: impl Fn() -> u64) -> Option<u32> {
        if links == 1 {
            return self.free_lane(group, now);
        }
        let mut best = (0, NEVER);
        let (mut first, mut ties) = (0, 0u64);
        let key = |link: u32| {
            let lanes = self.lanes(link).iter();
            (lanes.filter(|&&free| free <= now).count(), self.start(link, now))
        };
        for link in group..group + links {
            let (lanes, start) = key(link);
            if lanes > best.0 || (lanes == best.0 && start < best.1) {
                best = (lanes, start);
                first = link;
                ties = 1;
            } else if (lanes, start) == best {
                ties += 1;
            }
        }
        if best.0 == 0 {
            return None;
        }
        let mut link = first;
        if ties > 1 {
            let skip = ((u128::from(lot()) * u128::from(ties)) >> 64) as usize;
            let mut equal = (first..group + links).filter(|&link| key(link) == best);
            link = equal.nth(skip).expect("as many as were counted");
        }
        self.free_lane(link, now)
    }

    /// When the next lane of a group comes free, as far as known.
    #[inline]
    fn next_free(&self, group: u32, links: u32, now: Cycles) -> Cycles {
        let begin = (group * self.channels) as usize;
        let lanes = &self.free[begin..begin + (links * self.channels) as usize];
        let later = lanes.iter().copied().filter(|&free| free > now);
        later.fold(NEVER, Cycles::min)
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

    pub(super) fn circuit_inject(&mut self, packet: u32, node: u32, now: Cycles) {
        let lane = self.circuits().free_lane(node, now);
        self.circuit_grant(packet, node, lane.expect("a free lane was found"), now);
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
            let Some(lane) = network.choose(group, waiters.links, now, lot) else {
                let time = network.next_free(group, waiters.links, now);
                return self.wake_at(group, time);
            };
            waiters.take(index);
            let link = lane / network.channels;
            self.circuit_grant(packet, link, lane, now);
        }
    }

    /// A packet gets a lane of a link.
    fn circuit_grant(&mut self, packet: u32, link: u32, lane: u32, now: Cycles) {
        let network = self.circuits();
        let start = network.start(link, now);
        network.free[lane as usize] = NEVER;
        self.packets.step(packet, lane);
        let state = self.packets.get(packet);
        let ticks = self.ticks_on(link, state, start);
        self.counters.busy[link as usize] += ticks;
        self.counters.packets[link as usize] += 1;
        self.circuits().transmitter[link as usize] = start + ticks;
        match self.fabric.end(link) {
            End::Switch(_) => {
                let time = start + self.rules.hop;
                self.queue.push(time, Event::new(Kind::Arrive, 0, packet));
            }
            End::Node(node) => {
                let tail = start + ticks;
                self.queue
                    .push(tail, Event::new(Kind::Deliver, node, packet));
                self.release(packet, tail + self.rules.acknowledge);
            }
        }
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
        let node = path[0] / network.channels;
        let nic = &self.nics[node as usize];
        if !nic.run.is_empty() {
            let time = nic.ready.max(free);
            self.inject_at(node, time);
        }
    }
}
