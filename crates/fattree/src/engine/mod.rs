//! The event-driven engine.
//!
//! Only headers move: a header's start on a link gives the time at which its tail has left, and
//! its start on the last link the time at which the acknowledgement has passed each link on its
//! way back. So a lane that comes free costs no event unless something waits for it, and a packet
//! costs one event for each switch, one at each end, and one for each time that it has to wait.
//!
//! # Order within a tick
//! What is told of comes first, in the order of the crate's rules. What only asks for something is
//! answered when the tick ends, so that its order does not matter, and the queue does not sort it.
//!
//! # Data
//! In a large tree an event finds little of what it is about in the processor's caches, so that
//! the engine's cost is that of the lines it touches, above all of those it has to wait for.
//! Therefore:
//! - What decides who gets a link is a record of 32 bytes: the four links up of a switch of a 4-ary
//!   tree are two lines. What is counted of a link and where it leads is another record, touched
//!   once for each packet, when that gets the link (see `links`).
//! - Then the packet also learns for which links it is to ask next. So its arrival at the switch
//!   touches its own record, which is one line, and those links.
//! - For how long circuits hold lanes is counted when a lane is given away the next time, as its
//!   record still has the time at which it came free. Freeing lanes costs nothing more.
//! - The list of a `Group` is touched only when headers have to wait.
//! - Events of a slot of the queue are known together, and so is the way back of an acknowledgement:
//!   in large trees what they are about is called for before the first is served, so that the misses
//!   overlap.

mod circuit;
mod cut;
mod event;
mod group;
mod lanes;
mod links;
mod messages;
mod nic;
mod outputs;
mod packets;
mod queue;
mod returns;
mod ways;
mod window;

use crate::readings::AgeFrom;
use crate::rules::{Switching, tie};
use crate::traffic::{Delivery, Handler, Kind as MessageKind, Message, Offers, PacketSeen};
use crate::{Error, Rules};
use cut::Buffers;
use event::{Event, Kind};
use group::{Group, Turn};
use isthmus_kernel::{Cycles, Ran};
use isthmus_topology::trees::Tree;
pub(crate) use lanes::Lanes;
use links::Links;
use messages::Messages;
use nic::Nic;
pub(crate) use packets::Step;
use packets::{Packet, Packets};
use queue::Queue;
use std::collections::VecDeque;
use ways::{End, Run, Ways};

const NEVER: Cycles = Cycles::MAX;

/// Links from which on it pays to look ahead: what is known of fewer stays in the processor's caches.
const LARGE: u32 = 4_096;

/// Events of a slot from which on it does.
const AHEAD: usize = 4;

/// How packets hold links, and what there is besides [`Links`] for that.
#[derive(Debug, Clone)]
enum Network {
    Circuit {
        /// Lanes that a node's packets may hold of its links.
        in_flight: u32,
    },
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
    links: Links,
    /// Waiting headers. A group has the number of its first link.
    groups: Vec<Group>,
    /// Packets whose headers are to be served when the tick ends, if nobody else asks for the same
    /// links.
    asking: Vec<u32>,
    /// Groups to be looked at when the tick ends, and output buffers by their links and
    /// [`outputs::MARK`].
    dirty_groups: Vec<u32>,
    dirty_nics: Vec<u32>,
    /// Of those the output buffers, which come after the groups.
    dirty_outputs: Vec<u32>,
    /// Of each node what its handler is to be reminded of and when, in order of time; empty if nobody
    /// has asked for that.
    reminders: Vec<VecDeque<(Cycles, T)>>,
    offers: Offers<T>,
    /// Whether it pays to look ahead.
    large: bool,
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
            Switching::Circuit { in_flight } => Network::Circuit { in_flight },
            Switching::CutThrough {
                buffer,
                credit,
                outputs,
            } => {
                let arrivals = rules.age.from == AgeFrom::Arrival;
                let mut buffers = Buffers::new(links, lanes, buffer, credit, outputs);
                buffers.heads = (arrivals || outputs.is_some()).then(Vec::new);
                buffers.adaptive = rules.adaptive;
                Network::CutThrough(buffers)
            }
        };
        let mut groups = vec![Group::NONE; links as usize];
        let ways = Ways::new(tree, rules.ascent);
        let mut links = Links::new(Ways::ends(tree), lanes);
        for (run, ports) in ways.runs() {
            let group = &mut groups[run.first as usize];
            group.inputs = ports * channels;
            group.links = run.links;
        }
        links.clear(&groups);
        let large = tree.link_count() >= LARGE;
        // What a packet brings about lies a few of its lengths ahead. Where little happens at a
        // time, slots of the queue may be longer.
        let lengths = if large { 4 } else { 16 };
        let span = lengths * rules.byte * rules.wire_bytes(u64::from(rules.payload));
        let interface = &rules.interface;
        let nic = Nic::new(interface.queues, interface.slice);
        Ok(Self {
            nics: vec![nic; tree.node_count() as usize],
            packets: Packets::new(tree.level_count()),
            messages: Messages::default(),
            queue: Queue::new(span),
            offers: Offers::default(),
            asking: Vec::new(),
            dirty_groups: Vec::new(),
            dirty_nics: Vec::new(),
            dirty_outputs: Vec::new(),
            reminders: Vec::new(),
            large,
            tree: tree.clone(),
            ways,
            now: 0,
            lanes,
            network,
            links,
            groups,
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
        if let Network::CutThrough(network) = &mut self.network {
            network.clear();
        }
        self.links.clear(&self.groups);
        for group in &mut self.groups {
            group.waiting.clear();
        }
        self.asking.clear();
        self.dirty_groups.clear();
        self.dirty_nics.clear();
        self.dirty_outputs.clear();
        self.reminders.clear();
        self.offers.messages.clear();
        self.offers.reminders.clear();
    }

    /// The present time: what was due before has been served.
    pub fn now(&self) -> Cycles {
        self.now
    }

    /// Messages offered and not delivered, and packets on their way.
    pub fn under_way(&self) -> (usize, usize) {
        (self.messages.count(), self.packets.count())
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

    /// Serves what is due before `limit`, or until the handler has finished: see [`Ran`]. It is
    /// asked after each tick in which something happened.
    ///
    /// # Panics
    /// If the handler offers a message that [`Engine::send`] would not take.
    pub fn run_until<H: Handler<Tag = T>>(&mut self, limit: Cycles, handler: &mut H) -> Ran {
        if handler.finished() {
            return Ran::Finished;
        }
        let last = limit.saturating_sub(1);
        let mut slot = None;
        while limit > self.now
            && let Some(event) = self.queue.pop_until(last)
        {
            let now = self.queue.now();
            if self.large {
                let (present, upcoming) = self.queue.slot();
                if upcoming.len() >= AHEAD && slot != Some(present) {
                    slot = Some(present);
                    self.look_ahead(upcoming);
                }
            }
            self.now = now;
            // Most ticks have one event only: what it brings about can be done at once.
            let alone = !self.queue.more_now() && self.settled();
            match event.kind() {
                Kind::Arrive => match self.network {
                    Network::Circuit { .. } => self.circuit_arrive(event.about(), alone, now),
                    Network::CutThrough(_) => self.cut_arrive(event.about(), now),
                },
                Kind::Deliver => self.deliver(event.about(), now, handler),
                Kind::Wake => match self.network {
                    Network::Circuit { .. } => self.circuit_wake(event.about(), alone, now),
                    Network::CutThrough(_) => self.cut_wake(event.about(), now),
                },
                Kind::Inject => {
                    let node = event.about();
                    self.nics[node as usize].wake = NEVER;
                    if alone {
                        self.inject(node, now);
                    } else {
                        self.look_at_nic(node);
                    }
                }
                Kind::Send => self.output_wake(event.about(), now),
                Kind::Start => self.start(event.rank(), event.about()),
                Kind::Remind => {
                    let node = event.rank();
                    let reminder = self.reminders[node as usize].pop_front();
                    let (_, tag) = reminder.expect("an event for each reminder");
                    handler.reminded(now, node, tag, &mut self.offers);
                    self.take_offers();
                }
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
                    return Ran::Finished;
                }
            }
        }
        if limit < Cycles::MAX {
            self.now = self.now.max(limit);
        }
        Ran::at_limit(!self.queue.is_empty(), self.messages.count() as u64)
    }

    /// Calls for what the events of a slot are about. In a large tree it is no longer in the
    /// processor's caches; so the calls wait for memory together, not one after another.
    fn look_ahead(&self, upcoming: &[(Cycles, Event)]) {
        let mut read = 0;
        for (_, event) in upcoming {
            let about = event.about();
            read ^= match event.kind() {
                Kind::Arrive | Kind::Deliver => u64::from(self.packets.get(about).to),
                Kind::Wake => self.groups[about as usize].waiting.len() as u64,
                Kind::Inject => self.nics[about as usize].ready,
                Kind::Generate | Kind::Start | Kind::Remind | Kind::Send => 0,
            };
        }
        for (_, event) in upcoming {
            let about = event.about();
            read ^= match event.kind() {
                Kind::Arrive => {
                    let Packet {
                        run, links, lane, ..
                    } = *self.packets.get(about);
                    if let Network::CutThrough(buffers) = &self.network {
                        read ^= buffers.call(lane, run);
                    }
                    self.links.call(run) ^ self.packets.call_path(about, links)
                }
                Kind::Deliver => {
                    let Packet { to, message, .. } = *self.packets.get(about);
                    let nic = &self.nics[to as usize];
                    nic.ready ^ nic.received ^ self.messages.call(message)
                }
                Kind::Wake => {
                    let Group { links, waiting, .. } = &self.groups[about as usize];
                    let run = Run {
                        first: about,
                        links: *links,
                    };
                    self.links.call(run) ^ waiting.first().map_or(0, |waiter| waiter.since)
                }
                Kind::Inject => {
                    let nic = &self.nics[about as usize];
                    let message = nic.run.front();
                    let message = message.map_or(0, |&message| self.messages.call(message));
                    message ^ nic.sent ^ self.links.call(self.ways.of_node(about))
                }
                Kind::Generate | Kind::Start | Kind::Remind | Kind::Send => 0,
            };
        }
        for (_, event) in upcoming {
            if event.kind() == Kind::Wake {
                let waiting = self.groups[event.about() as usize].waiting.iter();
                read ^= waiting.fold(0, |read, waiter| {
                    read ^ u64::from(self.packets.get(waiter.packet).links)
                });
            }
        }
        std::hint::black_box(read);
    }

    fn take_offers(&mut self) {
        if !self.offers.reminders.is_empty() {
            self.take_reminders();
        }
        if self.offers.messages.is_empty() {
            return;
        }
        let mut offers = std::mem::take(&mut self.offers.messages);
        for (time, message) in offers.drain(..) {
            self.send(time, message);
        }
        self.offers.messages = offers;
    }

    #[cold]
    fn take_reminders(&mut self) {
        self.reminders
            .resize_with(self.nics.len(), VecDeque::default);
        for (time, node, tag) in self.offers.reminders.drain(..) {
            assert!(
                time > self.now,
                "a reminder for {time}, now is {}",
                self.now
            );
            let of_node = &mut self.reminders[node as usize];
            let at = of_node.partition_point(|&(earlier, _)| earlier <= time);
            of_node.insert(at, (time, tag));
            self.queue.push(time, Event::new(Kind::Remind, node, 0));
        }
    }

    /// At the end of a tick: outputs are given to those who wait, then packets start from output
    /// buffers, then nodes inject.
    fn settle(&mut self, now: Cycles) {
        self.circuit_settle(now);
        while let Some(group) = self.dirty_groups.pop() {
            match &self.network {
                Network::Circuit { .. } => self.circuit_arbitrate(group, now),
                Network::CutThrough(buffers) if buffers.outputs.is_some() => {
                    self.output_settle(group, now);
                }
                Network::CutThrough(_) => self.cut_arbitrate(group, now),
            }
        }
        while let Some(link) = self.dirty_outputs.pop() {
            self.output_send(link, now);
        }
        while let Some(node) = self.dirty_nics.pop() {
            self.nics[node as usize].dirty = false;
            self.inject(node, now);
        }
    }

    /// Whether nothing is left to do at the end of the tick so far.
    #[inline]
    fn settled(&self) -> bool {
        self.asking.is_empty() && self.dirty_groups.is_empty() && self.dirty_nics.is_empty()
    }

    /// A packet has got a link that leads to a switch: sees what it is to ask for there.
    #[inline]
    fn head_for(&mut self, packet: u32, end: End) {
        let state = self.packets.get_mut(packet);
        let channel = self.lanes.channel(state.lane);
        let (from, to, links) = (state.from, state.to, state.links);
        let lot = || tie(self.seed, from, state.number, u32::from(links));
        // On its way up it has crossed as many links as the switch has levels below it.
        state.run = self.ways.on(end, links < state.top, from, to, lot);
        state.input = end.port * self.rules.channels + channel;
    }

    /// What decides among headers that wait for a group and are equally old.
    #[inline]
    fn turn(&self, group: u32, now: Cycles) -> Turn {
        Turn {
            tie: self.rules.age.tie,
            served: self.links.served(group),
            seed: self.seed,
            now,
            group,
        }
    }

    /// Packets whose age counts from before this are equally old.
    #[inline]
    fn horizon(&self, now: Cycles) -> Cycles {
        let saturates = self.rules.age.saturates;
        saturates.map_or(0, |age| now.saturating_sub(age))
    }

    /// The tail of a packet arrives.
    fn deliver<H: Handler<Tag = T>>(&mut self, packet: u32, now: Cycles, handler: &mut H) {
        let state = *self.packets.get(packet);
        let nic = &mut self.nics[state.to as usize];
        if nic.ready > now {
            nic.ready += self.rules.interface.receive;
            nic.dma += self.rules.interface.receive;
        }
        let message = self.messages.get_mut(state.message);
        nic.received += 1;
        if message.data {
            nic.bytes += u64::from(state.payload);
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

/// Ticks that a packet takes on a link, its last or not, that it starts on at `start`.
#[inline]
fn ticks_on(rules: &Rules, last: bool, packet: &Packet, start: Cycles) -> Cycles {
    let ticks = u64::from(packet.ticks);
    match rules.late {
        Some(late) if last && start - packet.injected > late.older_than => ticks + late.extra,
        _ => ticks,
    }
}
