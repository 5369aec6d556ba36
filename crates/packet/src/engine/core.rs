//! What happens when, whatever way links are held in.

use super::event::{Event, Kind};
use super::group::{Group, Turn};
pub(super) use super::lanes::NEVER;
use super::lanes::{LaneId, Lanes};
use super::links::Links;
use super::messages::{MessageId, State};
use super::nic::Nic;
use super::packets::{Packet, PacketId, Packets};
use super::queue::Queue;
use crate::Rules;
use crate::rules::tie;
use crate::traffic::{Delivery, Handler, Kind as MessageKind, Message, Offers, PacketSeen};
use crate::routes::{End, Header, LocalView, Run, Routes};
use isthmus_kernel::{Cycles, Ran, Slab};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

/// Links from which on it pays to look ahead: what is known of fewer stays in the processor's caches.
const LARGE: u32 = 4_096;

/// Events of a slot from which on it does.
const AHEAD: usize = 4;

/// Beyond the links of any way: what decides when a packet is injected.
pub(super) const SET_OUT: u32 = 1 << 17;

/// What the lot of a network's choice of links depends on, apart from that of a choice among equals. A
/// plain network does not make both.
pub(super) fn way_link<W: Routes>(link: u32) -> u32 {
    match W::PLAIN {
        true => link,
        false => link | 1 << 16,
    }
}

/// How packets hold links.
pub(super) trait Holding: Clone + Debug + Sized {
    /// Whether lanes are held apart from transmitters, so that their ticks are counted.
    const LANES: bool;

    /// When one of these links of its node can take the next packet of the message, or should be asked
    /// again, as far as known.
    fn links_free<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        header: &Header,
        run: Run,
        message: MessageId,
        now: Cycles,
    ) -> Option<Cycles>;

    /// Gives a new packet a lane of one of these links, of which one can be had. Answers when it
    /// starts.
    fn inject<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        run: Run,
        now: Cycles,
    ) -> Cycles;

    /// A header asks for its next links. `alone`: nothing else happens in this tick.
    fn arrive<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        alone: bool,
        now: Cycles,
    );

    /// Something comes free for which a header may wait.
    fn wake<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, group: u32, alone: bool, now: Cycles);

    /// Something comes free for which an output buffer may wait.
    fn send<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, link: u32, now: Cycles);

    /// At the end of a tick: gives links to those who wait.
    fn settle<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, now: Cycles);

    /// See [`LocalView::taken`].
    fn taken<T: Copy, W: Routes>(core: &Core<T, W, Self>, link: u32) -> u64;

    /// How much a packet counts that waits: see [`LocalView::waiting`].
    fn weight(packet: &Packet) -> u64;

    /// Calls for what a packet's next links are asked, unless it is in the processor's caches.
    fn call(&self, links: &Links, lane: LaneId, run: Run, class: u16) -> u64;
}

/// The engine for one way of holding links.
#[derive(Debug, Clone)]
pub(super) struct Core<T, W, H> {
    pub(super) routes: Arc<W>,
    pub(super) rules: Rules,
    pub(super) seed: u64,
    pub(super) now: Cycles,
    pub(super) queue: Queue,
    pub(super) messages: Slab<MessageId, State<T>>,
    /// Of those the ones to be generated.
    pub(super) to_come: u64,
    pub(super) packets: Packets,
    pub(super) nics: Vec<Nic>,
    pub(super) lanes: Lanes,
    pub(super) holding: H,
    pub(super) links: Links,
    /// Waiting headers. A group has the number of its first link.
    pub(super) groups: Vec<Group>,
    /// Packets whose headers are to be served when the tick ends, if nobody else asks for the same
    /// links.
    pub(super) asking: Vec<PacketId>,
    /// Groups to be looked at when the tick ends, and output buffers by their links and
    /// [`MARK`](super::outputs::MARK).
    pub(super) dirty_groups: Vec<u32>,
    pub(super) dirty_nics: Vec<u32>,
    /// Of those the output buffers, which come after the groups.
    pub(super) dirty_outputs: Vec<u32>,
    /// Of each node what its handler is to be reminded of and when, in order of time; empty if nobody
    /// has asked for that.
    reminders: Vec<VecDeque<(Cycles, T)>>,
    offers: Offers<T>,
    /// Of each link its length, unless the network is plain.
    lengths: Vec<Cycles>,
    /// Whether it pays to look ahead.
    pub(super) large: bool,
}

impl<T: Copy, W: Routes, S: Holding> LocalView for Core<T, W, S> {
    fn taken(&self, link: u32) -> u64 {
        S::taken(self, link)
    }

    fn waiting(&self, first: u32) -> u64 {
        let waiting = self.groups[first as usize].waiting.iter();
        waiting
            .map(|waiter| S::weight(self.packets.get(waiter.packet)))
            .sum()
    }
}

impl<T: Copy, W: Routes, S: Holding> Core<T, W, S> {
    /// An idle engine at time 0, of rules that can be followed.
    pub fn new(routes: Arc<W>, rules: Rules, seed: u64, lanes: Lanes, holding: S) -> Self {
        let count = routes.link_count();
        let mut groups = vec![Group::NONE; count as usize];
        for (run, ports) in routes.runs() {
            let group = &mut groups[run.first as usize];
            group.inputs = ports * lanes.channels();
            group.links = run.links;
        }
        let ends = (0..count).map(|link| routes.end(link));
        let links = Links::new(ends, &groups, lanes, S::LANES);
        let large = count >= LARGE;
        // What a packet brings about lies a few of its lengths ahead. Where little happens at a
        // time, slots of the queue may be longer.
        let lengths = if large { 4 } else { 16 };
        let packet = rules.byte * rules.wire_bytes(u64::from(rules.payload));
        let longest = (0..count).map(|link| routes.length(link)).max();
        let span = lengths * packet + longest.unwrap_or(0);
        let interface = &rules.interface;
        let nic = Nic::new(interface.queues, interface.slice);
        Self {
            nics: vec![nic; routes.node_count() as usize],
            packets: Packets::new(routes.longest()),
            messages: Slab::new(),
            to_come: 0,
            queue: Queue::new(span),
            offers: Offers::default(),
            asking: Vec::new(),
            dirty_groups: Vec::new(),
            dirty_nics: Vec::new(),
            dirty_outputs: Vec::new(),
            reminders: Vec::new(),
            lengths: match W::PLAIN {
                true => Vec::new(),
                false => (0..count).map(|link| routes.length(link)).collect(),
            },
            large,
            routes,
            now: 0,
            lanes,
            holding,
            links,
            groups,
            rules,
            seed,
        }
    }

    pub fn under_way(&self) -> u64 {
        self.messages.len() as u64 - self.to_come
    }

    pub fn offer(&mut self, time: Cycles, message: Message<T>) {
        let nodes = self.nics.len() as u32;
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

    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        self.offers.remind(time, node, tag);
        self.take_reminders();
    }

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
                Kind::Arrive => S::arrive(self, event.packet(), alone, now),
                Kind::Deliver => self.deliver(event.packet(), now, handler),
                Kind::Wake => S::wake(self, event.about(), alone, now),
                Kind::Inject => {
                    let node = event.about();
                    self.nics[node as usize].wake = NEVER;
                    if alone {
                        self.inject(node, now);
                    } else {
                        self.look_at_nic(node);
                    }
                }
                Kind::Send => S::send(self, event.about(), now),
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
                    let state = &self.messages[message];
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
        Ran::at_limit(!self.queue.is_empty(), self.under_way())
    }

    /// Calls for what the events of a slot are about. In a large tree it is no longer in the
    /// processor's caches; so the calls wait for memory together, not one after another.
    fn look_ahead(&self, upcoming: &[(Cycles, Event)]) {
        let mut read = 0;
        for (_, event) in upcoming {
            let about = event.about();
            read ^= match event.kind() {
                Kind::Arrive | Kind::Deliver => {
                    u64::from(self.packets.get(event.packet()).header.to)
                }
                Kind::Wake => self.groups[about as usize].waiting.len() as u64,
                Kind::Inject => self.nics[about as usize].ready,
                Kind::Generate => self.nics[event.rank() as usize].call(),
                Kind::Start | Kind::Remind | Kind::Send => 0,
            };
        }
        for (_, event) in upcoming {
            let about = event.about();
            read ^= match event.kind() {
                Kind::Arrive => {
                    let Packet {
                        run, header, lane, ..
                    } = *self.packets.get(event.packet());
                    let held = self.holding.call(&self.links, lane, run, header.class);
                    held ^ self.links.call(run)
                        ^ self.groups[run.first as usize].waiting.len() as u64
                        ^ self.packets.call_path(event.packet(), header.links)
                }
                Kind::Deliver => {
                    let Packet {
                        header, message, ..
                    } = *self.packets.get(event.packet());
                    let nic = &self.nics[header.to as usize];
                    nic.ready ^ nic.received ^ self.messages[message].call()
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
                    let message = nic.turns.front();
                    let message = message.map_or(0, |&message| self.messages[message].call());
                    message ^ nic.sent ^ self.links.call(self.routes.of_node(about))
                }
                Kind::Generate => {
                    let message = self.nics[event.rank() as usize].next_to_come();
                    message.map_or(0, |message| self.messages[message].call())
                }
                Kind::Start | Kind::Remind | Kind::Send => 0,
            };
        }
        for (_, event) in upcoming {
            if event.kind() == Kind::Wake {
                let waiting = self.groups[event.about() as usize].waiting.iter();
                read ^= waiting.fold(0, |read, waiter| {
                    read ^ u64::from(self.packets.get(waiter.packet).header.links)
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
            self.offer(time, message);
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

    /// At the end of a tick: outputs are given to those who wait, then nodes inject.
    fn settle(&mut self, now: Cycles) {
        S::settle(self, now);
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

    /// Whether a link leads to a node.
    #[inline]
    pub(super) fn is_last(&self, end: End) -> bool {
        (end.vertex as usize) < self.nics.len()
    }

    /// Ticks that a signal takes from one end of a link to the other.
    #[inline]
    pub(super) fn length(&self, link: u32) -> Cycles {
        if W::PLAIN {
            return 0;
        }
        self.lengths[link as usize]
    }

    /// A packet has got a link that leads to a switch: sees what it is to ask for there.
    #[inline]
    pub(super) fn head_for(&mut self, packet: PacketId, end: End) {
        let state = self.packets.get_mut(packet);
        let channel = self.lanes.channel(state.lane);
        let Header { from, links, .. } = state.header;
        let link = way_link::<W>(u32::from(links));
        let lot = || tie(self.seed, from, state.number, link);
        state.run = self.routes.next(&mut state.header, end, lot);
        debug_assert_eq!(self.groups[state.run.first as usize].links, state.run.links);
        debug_assert!(W::PLAIN || u32::from(state.header.class) < self.routes.classes());
        state.input = end.port * self.lanes.channels() + channel;
    }

    /// What decides among headers that wait for a group and are equally old.
    #[inline]
    pub(super) fn turn(&self, group: u32, now: Cycles) -> Turn {
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
    pub(super) fn horizon(&self, now: Cycles) -> Cycles {
        let saturates = self.rules.age.saturates;
        saturates.map_or(0, |age| now.saturating_sub(age))
    }

    /// When the sender of a packet that has arrived now knows of that.
    #[inline]
    fn known(&self, packet: PacketId, now: Cycles) -> Cycles {
        let path = self.packets.path(packet);
        let switches = path.len() as u64 - 1;
        let known = now + self.rules.acknowledge + switches * self.rules.acknowledge_hop;
        if W::PLAIN {
            return known;
        }
        let lengths = path
            .iter()
            .map(|step| self.length(self.lanes.link(step.lane)));
        known + lengths.sum::<Cycles>()
    }

    /// The tail of a packet arrives.
    fn deliver<H: Handler<Tag = T>>(&mut self, packet: PacketId, now: Cycles, handler: &mut H) {
        let state = *self.packets.get(packet);
        let known = self.known(packet, now);
        let Header { from, to, .. } = state.header;
        let nic = &mut self.nics[to as usize];
        if nic.ready > now {
            nic.ready += self.rules.interface.receive;
            nic.dma += self.rules.interface.receive;
        }
        let message = &mut self.messages[state.message];
        nic.received += 1;
        if message.data {
            nic.bytes += u64::from(state.payload);
        }
        handler.packet(&PacketSeen {
            tag: message.message.tag,
            from,
            to,
            request: !message.data,
            number: state.number,
            payload: state.payload,
            injected: state.injected,
            arrived: now,
            path: self.packets.path(packet),
            lanes: self.lanes,
        });
        message.arrived += 1;
        message.completed = message.completed.max(known);
        let done = message.arrived == message.packets;
        self.packets.remove(packet);
        if !done {
            return;
        }
        if !message.data {
            let there = handler.requested(now, &message.message);
            return self.reply(state.message, there);
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
pub(super) fn ticks_on(rules: &Rules, last: bool, packet: &Packet, start: Cycles) -> Cycles {
    let ticks = u64::from(packet.ticks);
    match rules.late {
        Some(late) if last && start - packet.injected > late.older_than => ticks + late.extra,
        _ => ticks,
    }
}
