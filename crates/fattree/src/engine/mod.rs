//! The event-driven engine.
//!
//! Only headers move: a header's start on a link gives the time at which its tail has left, and
//! its start on the last link the time at which the acknowledgement has passed each link on its
//! way back. So a lane that comes free costs no event unless something waits for it, and a packet
//! costs one event for each switch, one at each end, and one for each time that it has to wait.

mod circuit;
mod cut;
mod event;
mod group;
pub(crate) mod lanes;
mod messages;
mod nic;
mod packets;
mod queue;
mod ways;
mod window;

use crate::rules::{AgeFrom, Switching, tie};
use crate::traffic::{Delivery, Handler, Kind as MessageKind, Message, Offers, PacketSeen};
use crate::{Counters, Error, Rules};
use circuit::Circuits;
use cut::Buffers;
use event::{Event, Kind};
use group::{Group, Waiter};
use isthmus_kernel::Cycles;
use isthmus_topology::trees::Tree;
use lanes::Lanes;
use messages::Messages;
use nic::Nic;
use packets::{Packet, Packets};
use queue::Queue;
use ways::Ways;

const NEVER: Cycles = Cycles::MAX;

/// The links, by the way in which packets hold them.
#[derive(Debug, Clone)]
enum Network {
    Circuit(Circuits),
    CutThrough(Buffers),
}

/// The engine: see the rules of the crate.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    tree: Tree,
    ways: Ways,
    rules: Rules,
    seed: u64,
    now: Cycles,
    queue: Queue,
    messages: Messages<T>,
    packets: Packets,
    nics: Vec<Nic>,
    lanes: Lanes,
    network: Network,
    /// Waiting headers. A group has the number of its first link.
    groups: Vec<Group>,
    /// For each group, when it is to be looked at again: 0 if nobody waits, never if nothing is
    /// known to come free.
    wakes: Vec<Cycles>,
    /// The group of each link.
    group_of: Vec<u32>,
    dirty_groups: Vec<u32>,
    dirty_nics: Vec<u32>,
    offers: Offers<T>,
    counters: Counters,
}

impl<T: Copy> Engine<T> {
    /// An idle engine at time 0. The seed decides between equally good up links.
    ///
    /// # Errors
    /// If the rules cannot be followed.
    pub fn new(tree: &Tree, rules: Rules, seed: u64) -> Result<Self, Error> {
        rules.check()?;
        let (links, channels) = (tree.link_count(), rules.channels);
        let lanes = Lanes::new(channels);
        let network = match rules.switching {
            Switching::Circuit { in_flight } => {
                Network::Circuit(Circuits::new(links, lanes, in_flight))
            }
            Switching::CutThrough { buffer, credit } => {
                Network::CutThrough(Buffers::new(links, lanes, buffer, credit))
            }
        };
        let mut groups = vec![Group::NONE; links as usize];
        let mut group_of: Vec<u32> = (0..links).collect();
        let ways = Ways::new(tree, rules.ascent);
        for (run, ports) in ways.runs() {
            let group = &mut groups[run.first as usize];
            group.inputs = ports * channels;
            group.links = run.links;
            group_of[run.first as usize..][..run.links as usize].fill(run.first);
        }
        // What a packet brings about lies a few of its lengths ahead.
        let span = 4 * rules.byte * rules.wire_bytes(u64::from(rules.payload));
        let interface = &rules.interface;
        let nic = Nic::new(interface.queues, interface.slice);
        Ok(Self {
            nics: vec![nic; tree.node_count() as usize],
            packets: Packets::new(tree.level_count()),
            messages: Messages::default(),
            queue: Queue::new(span),
            counters: Counters::new(tree),
            offers: Offers::default(),
            dirty_groups: Vec::new(),
            dirty_nics: Vec::new(),
            tree: tree.clone(),
            ways,
            now: 0,
            lanes,
            network,
            wakes: vec![0; links as usize],
            groups,
            group_of,
            rules,
            seed,
        })
    }

    /// Goes back to an idle engine at time 0, with another seed. Keeps the memory.
    pub fn clear(&mut self, seed: u64) {
        self.seed = seed;
        self.now = 0;
        self.queue.clear();
        self.messages.clear();
        self.packets.clear();
        let interface = &self.rules.interface;
        self.nics.fill(Nic::new(interface.queues, interface.slice));
        match &mut self.network {
            Network::Circuit(network) => network.clear(),
            Network::CutThrough(network) => network.clear(),
        }
        for group in &mut self.groups {
            group.waiting.clear();
            group.turn = 0;
            group.dirty = false;
        }
        self.wakes.fill(0);
        self.dirty_groups.clear();
        self.dirty_nics.clear();
        self.offers.messages.clear();
        self.counters.reset();
    }

    /// The present time: what was due before has been served.
    pub fn now(&self) -> Cycles {
        self.now
    }

    /// Messages offered and not delivered, and packets on their way.
    pub fn under_way(&self) -> (usize, usize) {
        (self.messages.count(), self.packets.count())
    }

    /// The counts.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The counts, to begin anew.
    pub fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Offers a message for `time`. Messages of a node and time are generated in the order in
    /// which they are offered.
    ///
    /// # Panics
    /// If the time has passed, a node or queue does not exist, or the node writes to itself.
    pub fn send(&mut self, time: Cycles, message: Message<T>) {
        let nodes = self.tree.node_count();
        let Message {
            from, to, queue, ..
        } = message;
        assert!(
            time >= self.now,
            "a message of node {from} was offered for {time}, now is {}",
            self.now
        );
        assert!(
            from < nodes && to < nodes && from != to,
            "a message goes from node {from} to node {to}; the nodes are 0 to {}, and none sends \
             to itself",
            nodes - 1
        );
        assert!(
            queue < self.rules.interface.queues,
            "a message waits in queue {queue}; the last is {}",
            self.rules.interface.queues - 1
        );
        self.accept(time, message);
    }

    /// Serves what is due before `limit`, or until the handler has finished; it is asked after
    /// each tick in which something happened.
    ///
    /// # Panics
    /// If the handler offers a message that [`Engine::send`] would not take.
    pub fn run_until<H: Handler<Tag = T>>(&mut self, limit: Cycles, handler: &mut H) {
        let Some(last) = limit.checked_sub(1) else {
            return;
        };
        while let Some(event) = self.queue.pop_until(last) {
            let now = self.queue.now();
            self.now = now;
            // Most ticks have one event only: what it brings about can be done at once.
            let alone = !self.queue.more_now() && self.settled();
            match event.kind() {
                Kind::Arrive => self.arrive(event.about(), alone, now),
                Kind::Deliver => self.deliver(event.about(), now, handler),
                Kind::Wake => {
                    let group = event.about();
                    // Whoever waited may have been served since.
                    if self.wakes[group as usize] > 0 {
                        self.wakes[group as usize] = NEVER;
                        if alone {
                            self.arbitrate(group, now);
                        } else {
                            self.look_at_group(group);
                        }
                    }
                }
                Kind::Inject => {
                    let node = event.about();
                    self.nics[node as usize].wake = NEVER;
                    if alone {
                        self.inject(node, now);
                    } else {
                        self.look_at_nic(node);
                    }
                }
                Kind::Start => self.start(event.rank(), event.about()),
                Kind::Generate => {
                    let message = self.generate(event.rank(), now);
                    let state = self.messages.get(message);
                    handler.generated(now, &state.message, &mut self.offers);
                    self.take_offers();
                }
            }
            if !self.queue.more_now() {
                if !self.settled() {
                    self.settle(now);
                }
                if handler.finished() {
                    return;
                }
            }
        }
        self.now = self.now.max(limit);
    }

    fn take_offers(&mut self) {
        if self.offers.messages.is_empty() {
            return;
        }
        let mut offers = std::mem::take(&mut self.offers.messages);
        for (time, message) in offers.drain(..) {
            self.send(time, message);
        }
        self.offers.messages = offers;
    }

    /// At the end of a tick: outputs are given to those who wait, then nodes inject.
    fn settle(&mut self, now: Cycles) {
        while let Some(group) = self.dirty_groups.pop() {
            self.groups[group as usize].dirty = false;
            self.arbitrate(group, now);
        }
        while let Some(node) = self.dirty_nics.pop() {
            self.nics[node as usize].dirty = false;
            self.inject(node, now);
        }
    }

    fn arbitrate(&mut self, group: u32, now: Cycles) {
        match self.network {
            Network::Circuit(_) => self.circuit_arbitrate(group, now),
            Network::CutThrough(_) => self.cut_arbitrate(group, now),
        }
    }

    /// Whether nothing is left to do at the end of the tick so far.
    #[inline]
    fn settled(&self) -> bool {
        self.dirty_groups.is_empty() && self.dirty_nics.is_empty()
    }

    /// A header asks for an output.
    fn arrive(&mut self, packet: u32, alone: bool, now: Cycles) {
        let cut = matches!(self.network, Network::CutThrough(_));
        if cut && !self.cut_arrive(packet, now) {
            return;
        }
        let lane = self.packets.lane(packet);
        let (link, channel) = (self.lanes.link(lane), self.lanes.channel(lane));
        let state = self.packets.get(packet);
        let lot = || tie(self.seed, state.from, state.number, u32::from(state.links));
        // On its way up it has crossed as many links as the switch has levels below it.
        let up = state.links < state.top;
        let run = self.ways.on(link, up, state.from, state.to, lot);
        let waiter = Waiter {
            since: match self.rules.age.from {
                AgeFrom::Injection => state.injected,
                AgeFrom::Switch => now,
            },
            input: self.ways.port(link) * self.rules.channels + channel,
            packet,
        };
        if alone && !cut {
            return self.circuit_ask_alone(run, waiter, now);
        }
        self.groups[run.first as usize].waiting.push(waiter);
        self.look_at_group(run.first);
    }

    /// Notes that a group, in which headers wait, is to be looked at when the tick ends.
    #[inline]
    fn look_at_group(&mut self, group: u32) {
        let state = &mut self.groups[group as usize];
        if !state.dirty {
            state.dirty = true;
            self.dirty_groups.push(group);
            let wake = &mut self.wakes[group as usize];
            if *wake == 0 {
                *wake = NEVER;
            }
        }
    }

    /// Looks at a group again at `time`, unless it will be looked at before or nobody waits.
    #[inline]
    fn wake_at(&mut self, group: u32, time: Cycles) {
        let wake = &mut self.wakes[group as usize];
        if time < *wake {
            *wake = time;
            self.queue.push(time, Event::new(Kind::Wake, 0, group));
        }
    }

    /// Packets whose age counts from before this are equally old.
    #[inline]
    fn horizon(&self, now: Cycles) -> Cycles {
        let saturates = self.rules.age.saturates;
        saturates.map_or(0, |age| now.saturating_sub(age))
    }

    /// Ticks that a packet takes on a link that it starts on at `start`.
    #[inline]
    fn ticks_on(&self, link: u32, packet: &Packet, start: Cycles) -> Cycles {
        let ticks = u64::from(packet.ticks);
        match self.rules.late {
            Some(late)
                if start - packet.injected > late.older_than
                    && self.ways.node_at(link).is_some() =>
            {
                ticks + late.extra
            }
            _ => ticks,
        }
    }

    /// The tail of a packet arrives.
    fn deliver<H: Handler<Tag = T>>(&mut self, packet: u32, now: Cycles, handler: &mut H) {
        let state = *self.packets.get(packet);
        let nic = &mut self.nics[state.to as usize];
        if nic.ready > now {
            nic.ready += self.rules.interface.receive;
            self.counters.dma[state.to as usize] += self.rules.interface.receive;
        }
        let message = self.messages.get_mut(state.message);
        self.counters.received[state.to as usize] += 1;
        if message.data {
            self.counters.bytes[state.to as usize] += u64::from(state.payload);
        }
        handler.packet(&PacketSeen {
            tag: message.message.tag,
            from: state.from,
            to: state.to,
            request: !message.data,
            number: state.number,
            payload: state.payload,
            injected: state.injected,
            arrived: now,
            path: self.packets.path(packet),
            lanes: self.lanes,
        });
        message.arrived += 1;
        let switches = u64::from(state.links) - 1;
        let known = now + self.rules.acknowledge + switches * self.rules.acknowledge_hop;
        message.completed = message.completed.max(known);
        let done = message.arrived == message.packets;
        self.packets.remove(packet);
        if !done {
            return;
        }
        if !message.data {
            return self.reply(state.message, now);
        }
        let delivery = Delivery {
            message: message.message,
            generated: message.generated,
            injected: message.injected.expect("what arrives was injected"),
            arrived: now,
            completed: match message.message.kind {
                MessageKind::Write => message.completed,
                MessageKind::Read => now,
            },
            packets: message.packets,
        };
        self.messages.remove(state.message);
        handler.delivered(&delivery, &mut self.offers);
        self.take_offers();
    }
}
