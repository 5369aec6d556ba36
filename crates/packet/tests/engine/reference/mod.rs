//! The naive reference: in every tick it looks at every packet, lane and node. It follows the
//! rules of the crate and shares with the engine the plain values that go in and come out, the
//! lots ([`tie`]), and what says where links lead ([`Network`]).

mod network;
mod outputs;
mod state;

use isthmus_kernel::{Cycles, Engine};
use isthmus_packet::{
    AgeFrom, AgeTie, Counters, Kind, Lane, LinkLoad, LinkTie, Message, Rules, Switching,
    random_rank, tie,
};
pub use network::{Network, Seen, drawn};
pub use outputs::Cases;
use outputs::Place;
pub use state::{Answer, Answers, Flight, Report};
use state::{Channel, Node, Output, Transfer};
use std::collections::BTreeSet;
use std::ops::Range;

pub struct Reference<'n> {
    network: &'n dyn Network,
    rules: Rules,
    seed: u64,
    now: Cycles,
    offered: Vec<(Cycles, usize)>,
    transfers: Vec<Transfer>,
    flights: Vec<Flight>,
    nodes: Vec<Node>,
    /// By link and channel.
    channels: Vec<Vec<Channel>>,
    transmitters: Vec<Cycles>,
    /// By link.
    outputs: Vec<Output>,
    /// When, of which node and what.
    reminders: Vec<(Cycles, u32, u32)>,
    pub cases: Cases,
    /// By the first link of what is waited for: the input served last.
    served: Vec<Option<u32>>,
    pub counters: Counters,
}

impl Engine for Reference<'_> {
    type Message<'a> = Message<u32>;

    fn now(&self) -> Cycles {
        self.now
    }

    fn offer(&mut self, time: Cycles, message: Message<u32>) {
        assert!(time >= self.now);
        let read = message.kind == Kind::Read;
        let bytes = match message.kind {
            Kind::Write => message.bytes,
            Kind::Read => u64::from(self.rules.interface.request),
        };
        self.transfers.push(Transfer {
            message,
            generated: time,
            injected: None,
            data: !read,
            unsent: bytes,
            packets: self.packets_of(bytes),
            arrived: 0,
            acknowledged: 0,
            delivered: false,
        });
        self.offered.push((time, self.transfers.len() - 1));
    }

    fn under_way(&self) -> u64 {
        self.open() - self.offered.len() as u64
    }
}

impl<'n> Reference<'n> {
    pub fn new(network: &'n dyn Network, rules: Rules, seed: u64) -> Self {
        let links = network.links() as usize;
        let node_count = network.nodes() as usize;
        let channels = network.classes() * rules.channels;
        let node = Node {
            queues: vec![Vec::new(); rules.interface.queues as usize],
            ..Node::default()
        };
        Self {
            network,
            rules,
            seed,
            now: 0,
            offered: Vec::new(),
            transfers: Vec::new(),
            flights: Vec::new(),
            nodes: vec![node; node_count],
            channels: vec![vec![Channel::default(); channels as usize]; links],
            transmitters: vec![0; links],
            outputs: vec![Output::default(); links],
            reminders: Vec::new(),
            cases: Cases::default(),
            served: vec![None; links],
            counters: nothing_counted(links, node_count),
        }
    }

    pub fn count_from_now(&mut self) {
        self.counters = nothing_counted(self.transmitters.len(), self.nodes.len());
    }

    /// Messages offered and not delivered.
    pub fn open(&self) -> u64 {
        self.transfers.iter().filter(|t| !t.delivered).count() as u64
    }

    /// Packets on their way.
    pub fn packets(&self) -> u64 {
        let moving = self.flights.iter();
        let moving = moving.filter(|f| f.tail.is_none_or(|tail| tail >= self.now));
        moving.count() as u64
    }

    /// Runs the ticks before `limit`, whether anything happens in them or not.
    pub fn run_until(&mut self, limit: Cycles, answer: &mut Answer<'_>) {
        while self.now < limit {
            self.tick(answer);
        }
    }

    fn tick(&mut self, answer: &mut Answer<'_>) {
        self.acknowledgements();
        self.deliveries(answer);
        self.remind(answer);
        self.generations(answer);
        self.starts();
        self.requests();
        self.outputs();
        self.sends();
        for node in 0..self.nodes.len() as u32 {
            while self.inject(node) {}
        }
        self.count();
        self.now += 1;
    }

    /// What is taken in this tick.
    fn count(&mut self) {
        let now = self.now;
        let circuits = matches!(self.rules.switching, Switching::Circuit { .. });
        for (link, channels) in self.channels.iter().enumerate() {
            let busy = u64::from(self.transmitters[link] > now);
            let holders = channels.iter().filter(|c| c.holder.is_some()).count() as u64;
            self.counters.busy[link] += busy;
            self.counters.held[link] += if circuits { holders } else { busy };
        }
        for (node, state) in self.nodes.iter().enumerate() {
            self.counters.dma[node] += u64::from(state.ready > now);
        }
    }

    fn packets_of(&self, bytes: u64) -> u64 {
        let mut packets = 1;
        while packets * u64::from(self.rules.payload) < bytes {
            packets += 1;
        }
        packets
    }

    fn report_event(&mut self, report: &Report, answer: &mut Answer<'_>) {
        let answers = answer(report);
        for (time, message) in answers.messages {
            self.offer(time, message);
        }
        self.reminders.extend(answers.reminders);
    }

    fn remind(&mut self, answer: &mut Answer<'_>) {
        let mut due = self.reminders.clone();
        due.retain(|&(time, ..)| time == self.now);
        self.reminders.retain(|&(time, ..)| time != self.now);
        // A sort that keeps the order of those of one node.
        due.sort_by_key(|&(_, node, _)| node);
        for (time, node, tag) in due {
            self.report_event(&Report::Reminded { time, node, tag }, answer);
        }
    }

    /// When the acknowledgement of a packet has passed link `at` of its way back.
    fn acknowledged(&self, flight: &Flight, at: usize) -> Option<Cycles> {
        let behind = (flight.path.len() - 1 - at) as u64;
        let start = flight.tail? + self.rules.acknowledge;
        let lengths = flight.path[at..]
            .iter()
            .map(|lane| self.network.length(lane.link));
        Some(start + behind * self.rules.acknowledge_hop + lengths.sum::<Cycles>())
    }

    fn acknowledgements(&mut self) {
        for number in 0..self.flights.len() {
            let flight = &self.flights[number];
            if flight.over || flight.tail.is_none() {
                continue;
            }
            let passed = (0..flight.path.len())
                .filter(|&at| self.acknowledged(flight, at) == Some(self.now))
                .map(|at| flight.path[at]);
            let passed: Vec<Lane> = passed.collect();
            let over = self.acknowledged(flight, 0) < Some(self.now);
            for lane in passed {
                let channel = &mut self.channels[lane.link as usize][lane.channel as usize];
                if matches!(self.rules.switching, Switching::Circuit { .. }) {
                    assert_eq!(channel.holder, Some(number));
                    channel.holder = None;
                }
            }
            self.flights[number].over = over;
        }
    }

    fn deliveries(&mut self, answer: &mut Answer<'_>) {
        let flights = self.flights.iter().enumerate();
        let here = flights.filter(|(_, flight)| flight.tail == Some(self.now));
        let mut here: Vec<_> = here
            .map(|(number, flight)| (flight.path[flight.path.len() - 1], number))
            .collect();
        here.sort();
        for (_, number) in here {
            self.deliver(number, answer);
        }
    }

    fn deliver(&mut self, number: usize, answer: &mut Answer<'_>) {
        let flight = self.flights[number].clone();
        let node = &mut self.nodes[flight.to as usize];
        if node.ready > self.now {
            node.ready += self.rules.interface.receive;
        }
        let known = self.acknowledged(&flight, 0).expect("its tail is here");
        let transfer = &mut self.transfers[flight.message];
        self.counters.received[flight.to as usize] += 1;
        if transfer.data {
            self.counters.bytes[flight.to as usize] += flight.payload;
        }
        transfer.arrived += 1;
        transfer.acknowledged = transfer.acknowledged.max(known);
        let report = Report::Packet {
            tag: transfer.message.tag,
            from: flight.from,
            to: flight.to,
            request: !transfer.data,
            number: flight.number,
            payload: flight.payload as u32,
            injected: flight.injected,
            arrived: self.now,
            path: flight.path.clone(),
        };
        self.report_event(&report, answer);
        let bytes = self.transfers[flight.message].message.bytes;
        let packets = self.packets_of(bytes);
        let transfer = &mut self.transfers[flight.message];
        if transfer.arrived < transfer.packets {
            return;
        }
        if !transfer.data {
            transfer.data = true;
            transfer.arrived = 0;
            transfer.unsent = bytes;
            transfer.packets = packets;
            let tag = transfer.message.tag;
            let time = self.now;
            let there = answer(&Report::Requested { time, tag }).there;
            let interface = &self.rules.interface;
            let start = there.unwrap_or(time) + interface.turnaround;
            let starts = &mut self.nodes[flight.to as usize].starts;
            let later = starts
                .iter()
                .any(|&(time, queue, _)| queue == interface.queues && time > start);
            self.cases.overtaken += u64::from(later);
            starts.push((start, interface.queues, flight.message));
            return;
        }
        transfer.delivered = true;
        let report = Report::Delivered {
            tag: transfer.message.tag,
            generated: transfer.generated,
            injected: transfer.injected.expect("it was sent"),
            arrived: self.now,
            completed: match transfer.message.kind {
                Kind::Write => transfer.acknowledged,
                Kind::Read => self.now,
            },
            packets: transfer.packets,
        };
        self.report_event(&report, answer);
    }

    fn generations(&mut self, answer: &mut Answer<'_>) {
        loop {
            let due = self.offered.iter().enumerate();
            let due = due.filter(|(_, (time, _))| *time == self.now);
            // The first offered of the lowest node.
            let next = due.min_by_key(|(_, (_, m))| (self.transfers[*m].message.from, *m));
            let Some((at, &(time, message))) = next else {
                return;
            };
            self.offered.remove(at);
            let Message {
                from, queue, tag, ..
            } = self.transfers[message].message;
            let node = &mut self.nodes[from as usize];
            node.queues[queue as usize].push(message);
            if node.queues[queue as usize].len() == 1 {
                let start = time + self.rules.interface.start;
                node.starts.push((start, queue, message));
            }
            self.report_event(&Report::Generated { time, tag }, answer);
        }
    }

    fn starts(&mut self) {
        for node in &mut self.nodes {
            let mut due: Vec<_> = node.starts.clone();
            due.retain(|&(time, ..)| time == self.now);
            node.starts.retain(|&(time, ..)| time != self.now);
            due.sort_by_key(|&(_, queue, _)| queue);
            node.turns.extend(due.iter().map(|&(.., message)| message));
        }
    }

    /// Headers that have come to a switch and may ask fix what they ask for.
    fn requests(&mut self) {
        for number in 0..self.flights.len() {
            let flight = &self.flights[number];
            let waits = flight.wanted.is_some() || flight.crossed.is_some();
            if flight.tail.is_some() || flight.asks > self.now || waits {
                continue;
            }
            let lane = flight.path[flight.path.len() - 1];
            if matches!(self.rules.switching, Switching::CutThrough { .. }) {
                let channel = &self.channels[lane.link as usize][lane.channel as usize];
                if channel.buffer[0] != number || channel.clear > self.now {
                    continue;
                }
            }
            let at = self.network.target(lane.link);
            let wanted = self.network.wanted(at, flight, self.way_lot(flight));
            let flight = &mut self.flights[number];
            flight.wanted = Some(wanted);
            let behind = self.rules.age.from == AgeFrom::Arrival && flight.asks < self.now;
            self.cases.behind += u64::from(behind);
            flight.since = match self.rules.age.from {
                AgeFrom::Message => self.transfers[flight.message].generated,
                AgeFrom::Injection => flight.injected,
                AgeFrom::Arrival => flight.asks,
                AgeFrom::Request => self.now,
            };
        }
    }

    /// What decides about a packet's next link where chance does.
    fn lot(&self, flight: &Flight) -> u64 {
        let links = flight.path.len() as u32;
        tie(self.seed, flight.from, flight.number, links)
    }

    /// What decides about a packet's way at a link where chance does.
    fn way_lot(&self, flight: &Flight) -> u64 {
        if self.network.plain() {
            return self.lot(flight);
        }
        let links = flight.path.len() as u32;
        tie(self.seed, flight.from, flight.number, links + (1 << 16))
    }

    fn outputs(&mut self) {
        loop {
            let mut served = false;
            // By the first link of what is waited for.
            let wanted = self
                .flights
                .iter()
                .filter_map(|flight| flight.wanted.as_ref());
            let firsts: BTreeSet<u32> = wanted.map(|(links, _)| links.start).collect();
            for first in firsts {
                while self.serve(first) {
                    served = true;
                }
            }
            if !served {
                return;
            }
        }
    }

    /// The input of its switch at which a packet waits, and the inputs of that switch.
    fn input(&self, flight: &Flight) -> (u32, u32) {
        let lane = flight.path[flight.path.len() - 1];
        let (port, ports) = self.network.port(lane.link);
        let channels = self.network.classes() * self.rules.channels;
        (port * channels + lane.channel, ports * channels)
    }

    /// Gives one of those who wait for links from `first` on a lane, if there is one.
    fn serve(&mut self, first: u32) -> bool {
        let mut best: Option<((u64, u64), usize, Place)> = None;
        let mut equally_old = 0;
        for (number, flight) in self.flights.iter().enumerate() {
            let Some(wanted) = &flight.wanted else {
                continue;
            };
            if wanted.0.start != first {
                continue;
            }
            let place = match self.outputs_of() {
                None => self.lane(wanted.clone(), flight).map(Place::Lane),
                Some(_) => self.output(wanted.0.clone(), number).map(Place::Output),
            };
            let Some(place) = place else {
                continue;
            };
            let age = self.now - flight.since;
            let age = self.rules.age.saturates.map_or(age, |most| age.min(most));
            let (input, inputs) = self.input(flight);
            let turn = match (self.rules.age.tie, self.served[first as usize]) {
                (AgeTie::Random, _) => random_rank(self.seed, self.now, first, input),
                (AgeTie::Lowest, _) | (_, None) => input.into(),
                (AgeTie::RoundRobin, Some(last)) => ((input + inputs - last - 1) % inputs).into(),
            };
            let key = (u64::MAX - age, turn);
            equally_old = match &best {
                Some(((oldest, _), ..)) if key.0 > *oldest => equally_old,
                Some(((oldest, _), ..)) if key.0 == *oldest => equally_old + 1,
                _ => 1,
            };
            if best.as_ref().is_none_or(|(other, ..)| key < *other) {
                best = Some((key, number, place));
            }
        }
        let Some((_, number, place)) = best else {
            return false;
        };
        self.cases.age_ties[self.rules.age.tie as usize] += u64::from(equally_old > 1);
        self.served[first as usize] = Some(self.input(&self.flights[number]).0);
        self.flights[number].wanted = None;
        match place {
            Place::Lane(lane) => {
                self.leave(number, self.now + self.ticks(&self.flights[number]));
                self.go(number, lane);
            }
            Place::Output(link) => self.cross(number, link),
        }
        true
    }

    /// Bytes of room in the buffer behind a lane, as far as its sender knows.
    fn room(&self, channel: &Channel) -> u64 {
        let Switching::CutThrough { buffer, .. } = self.rules.switching else {
            unreachable!()
        };
        let taken = channel.taken.iter();
        let taken = taken.filter(|(known, ..)| known.is_none_or(|time| time > self.now));
        u64::from(buffer) - taken.map(|(_, bytes, _)| bytes).sum::<u64>()
    }

    /// Bytes sent over a link and not known to have left the buffer behind it, or lanes of it held.
    fn taken(&self, link: u32) -> u64 {
        let channels = self.channels[link as usize].iter();
        match self.rules.switching {
            Switching::Circuit { .. } => channels.filter(|c| c.holder.is_some()).count() as u64,
            Switching::CutThrough { buffer, .. } => {
                channels.map(|c| u64::from(buffer) - self.room(c)).sum()
            }
        }
    }

    /// Bytes of the packets whose headers wait for links from this one on, or how many there are.
    fn waiting(&self, first: u32) -> u64 {
        let wants = |flight: &&Flight| {
            let wanted = flight.wanted.as_ref();
            wanted.is_some_and(|(links, _)| links.start == first)
        };
        let waiting = self.flights.iter().filter(wants);
        match self.rules.switching {
            Switching::Circuit { .. } => waiting.count() as u64,
            Switching::CutThrough { .. } => waiting.map(|flight| flight.wire).sum(),
        }
    }

    /// The lane of one of these links that a packet gets now, if any.
    fn lane(&self, (wanted, class): (Range<u32>, u32), flight: &Flight) -> Option<Lane> {
        let now = self.now;
        let first = (class * self.rules.channels) as usize;
        let of_class = |link: u32| {
            let channels = &self.channels[link as usize][first..];
            &channels[..self.rules.channels as usize]
        };
        // What makes a link better, the greatest first.
        let merit = |link: u32| -> Option<(u64, u64)> {
            let channels = of_class(link);
            let transmitter = self.transmitters[link as usize];
            match self.rules.switching {
                Switching::Circuit { .. } => {
                    let mut free = channels.iter().filter(|c| c.holder.is_none()).count();
                    if free > 0 && self.rules.adaptive.load == LinkLoad::Idle {
                        free = 1;
                    }
                    (free > 0).then_some((free as u64, u64::MAX - transmitter.max(now)))
                }
                Switching::CutThrough { .. } => {
                    let rooms: Vec<u64> = channels.iter().map(|c| self.room(c)).collect();
                    let fits = rooms.iter().any(|&room| room >= flight.wire);
                    let merit = match self.rules.adaptive.load {
                        LinkLoad::Room => rooms.iter().sum(),
                        LinkLoad::Idle => 0,
                    };
                    (fits && transmitter <= now).then_some((merit, 0))
                }
            }
        };
        let most = wanted.clone().filter_map(merit).max()?;
        let best: Vec<u32> = wanted.filter(|&link| merit(link) == Some(most)).collect();
        let link = self.decide(best, flight);
        let channels = of_class(link);
        let channel = match self.rules.switching {
            Switching::Circuit { .. } => channels.iter().position(|c| c.holder.is_none())?,
            Switching::CutThrough { .. } => {
                let rooms: Vec<u64> = channels.iter().map(|c| self.room(c)).collect();
                let most = *rooms.iter().max()?;
                rooms.iter().position(|&room| room == most)?
            }
        };
        Some(Lane {
            link,
            channel: (first + channel) as u32,
        })
    }

    /// The one of links that are equally good that a packet gets.
    fn decide(&self, mut equals: Vec<u32>, flight: &Flight) -> u32 {
        let count = &self.cases.link_ties[self.rules.adaptive.tie as usize];
        count.set(count.get() + u64::from(equals.len() > 1));
        match self.rules.adaptive.tie {
            LinkTie::Lowest => equals.truncate(1),
            LinkTie::LongestIdle => {
                let free = |link: u32| self.transmitters[link as usize];
                equals.sort_by_key(|&link| (free(link), link));
                let first = free(equals[0]);
                equals.retain(|&link| free(link) == first);
            }
            LinkTie::Random => {}
        }
        let lot = u128::from(self.lot(flight));
        equals[((lot * equals.len() as u128) >> 64) as usize]
    }

    fn ticks(&self, flight: &Flight) -> Cycles {
        flight.wire * self.rules.byte
    }

    /// Cut-through: a packet starts to leave the buffer that it is first of, which its tail will have
    /// left at `tail`.
    fn leave(&mut self, number: usize, tail: Cycles) {
        let Switching::CutThrough { credit, .. } = self.rules.switching else {
            return;
        };
        let flight = &self.flights[number];
        let lane = flight.path[flight.path.len() - 1];
        let length = self.network.length(lane.link);
        let channel = &mut self.channels[lane.link as usize][lane.channel as usize];
        assert_eq!(channel.buffer.remove(0), number);
        channel.clear = tail;
        let taken = channel.taken.iter_mut().find(|(.., who)| *who == number);
        taken.unwrap().0 = Some(tail + credit + length);
    }

    /// A packet gets a lane.
    fn go(&mut self, number: usize, lane: Lane) {
        let now = self.now;
        let last = self.network.target(lane.link) < self.network.nodes();
        let length = self.network.length(lane.link);
        let mut ticks = self.ticks(&self.flights[number]);
        let flight = &mut self.flights[number];
        let channel = &mut self.channels[lane.link as usize][lane.channel as usize];
        let transmitter = &mut self.transmitters[lane.link as usize];
        let start = now.max(*transmitter);
        if flight.path.is_empty() {
            flight.injected = start;
        }
        if let Some(late) = self.rules.late
            && last
            && start - flight.injected > late.older_than
        {
            ticks += late.extra;
        }
        match self.rules.switching {
            Switching::Circuit { .. } => {
                assert!(channel.holder.is_none());
                channel.holder = Some(number);
            }
            Switching::CutThrough { credit, .. } => {
                assert_eq!(start, now);
                let known = last.then_some(now + ticks + length + credit + length);
                channel.taken.push((known, flight.wire, number));
                if !last {
                    channel.buffer.push(number);
                }
            }
        }
        *transmitter = start + ticks;
        self.counters.packets[lane.link as usize] += 1;
        flight.path.push(lane);
        if last {
            flight.tail = Some(start + ticks + length);
        } else {
            flight.asks = start + self.rules.hop + length;
        }
    }

    /// Injects a packet of a node if it can.
    fn inject(&mut self, at: u32) -> bool {
        let interface = self.rules.interface;
        let node = &self.nodes[at as usize];
        let Some(&message) = node.turns.first() else {
            return false;
        };
        if node.ready > self.now {
            return false;
        }
        let transfer = &self.transfers[message];
        let reply = transfer.data && transfer.message.kind == Kind::Read;
        let to = if reply {
            transfer.message.from
        } else {
            transfer.message.to
        };
        let payload = transfer.unsent.min(u64::from(self.rules.payload));
        let blocks = payload.div_ceil(u64::from(self.rules.block));
        let mut flight = Flight {
            message,
            from: at,
            to,
            number: node.sent,
            payload,
            wire: blocks * u64::from(self.rules.block) + u64::from(self.rules.overhead),
            injected: 0,
            path: Vec::new(),
            asks: 0,
            crossed: None,
            tail: None,
            wanted: None,
            via: None,
            since: 0,
            over: false,
        };
        if let Switching::Circuit { in_flight } = self.rules.switching {
            let links = self.network.of_node(at);
            let lanes = links.flat_map(|link| &self.channels[link as usize]);
            if lanes.filter(|c| c.holder.is_some()).count() >= in_flight as usize {
                return false;
            }
        }
        let wanted = self.network.wanted(at, &flight, self.way_lot(&flight));
        let Some(lane) = self.lane(wanted, &flight) else {
            return false;
        };
        let lot = tie(self.seed, flight.from, flight.number, 1 << 17);
        let taken = |link: u32| self.taken(link);
        let waiting = |link: u32| self.waiting(link);
        let seen = Seen {
            taken: &taken,
            waiting: &waiting,
        };
        flight.via = self.network.set_out(&flight, &seen, lot);
        self.flights.push(flight);
        self.go(self.flights.len() - 1, lane);
        let injected = self.flights[self.flights.len() - 1].injected;
        let transfer = &mut self.transfers[message];
        transfer.injected = transfer.injected.or(Some(injected));
        transfer.unsent -= payload;
        let done = transfer.unsent == 0;
        let queue = transfer.message.queue;
        let node = &mut self.nodes[at as usize];
        node.sent += 1;
        self.counters.sent[at as usize] += 1;
        node.ready = self.now + interface.packet + blocks * interface.packet_block;
        node.sent_in_turn += 1;
        if done {
            node.turns.remove(0);
            node.sent_in_turn = 0;
        } else if node.sent_in_turn == interface.slice {
            node.turns.rotate_left(1);
            node.sent_in_turn = 0;
        }
        if done && !reply {
            let waiting = &mut node.queues[queue as usize];
            waiting.remove(0);
            if let Some(&next) = waiting.first() {
                let start = self.transfers[next].generated + interface.start;
                if start <= self.now {
                    node.turns.push(next);
                } else {
                    node.starts.push((start, queue, next));
                }
            }
        }
        true
    }
}

fn nothing_counted(links: usize, nodes: usize) -> Counters {
    Counters {
        busy: vec![0; links],
        packets: vec![0; links],
        held: vec![0; links],
        dma: vec![0; nodes],
        sent: vec![0; nodes],
        bytes: vec![0; nodes],
        received: vec![0; nodes],
    }
}
