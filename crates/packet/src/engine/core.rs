//! The event loop of the packet engine, and the parts that its two switching methods share.

use super::event::{Event, Kind};
use super::group::{Group, TieBreak};
pub(super) use super::lanes::NEVER;
use super::lanes::{LaneId, Lanes};
use super::links::Links;
use super::messages::MessageState;
use super::nic::Nic;
use super::packets::{MessageId, Packet, PacketId, Packets};
use super::queue::Queue;
use crate::Rules;
use crate::routes::{End, Header, LocalView, Routes, Run};
use crate::rules::tie;
use crate::traffic::{Delivery, Handler, Kind as MessageKind, Message, Offers, PacketSeen};
use isthmus_kernel::{Cycles, Ran, Slab};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

/// Minimum number of links of a network for which the engine prefetches its data; the state of
/// fewer links stays in the processor caches.
const LARGE: u32 = 4_096;

/// Minimum number of events in a slot of the queue for which the engine prefetches their data.
const PREFETCH_EVENTS_MIN: usize = 4;

/// The number to pass to the random function [`tie`] for the choice of a packet's route at
/// injection. It differs from the numbers for the choices at links, so that the choices are
/// independent.
pub(super) const ROUTE_CHOICE: u32 = 1 << 17;

/// Return the number to pass to the random function [`tie`] for the routing choice at link number
/// `link` of a packet's route. It differs from `link`, which is passed for the choice among equal
/// links, so that the choices are independent. A plain network makes only one of the two choices,
/// with `link` itself.
pub(super) fn network_choice<W: Routes>(link: u32) -> u32 {
    match W::PLAIN {
        true => link,
        false => link | 1 << 16,
    }
}

/// Switching method: the resources that a packet occupies along its route, and when it gets and
/// frees them.
pub(super) trait SwitchingMethod: Clone + Debug + Sized {
    /// Whether packets occupy lanes (virtual channels) for longer than the transmitters of links.
    /// If so, the engine records how long lanes are occupied, besides how long transmitters are.
    const LANES: bool;

    /// Return when the next packet of a message can start on one of these links of its node, or
    /// when to repeat the query; `None` if unknown.
    fn links_free<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        header: &Header,
        run: Run,
        message: MessageId,
        now: Cycles,
    ) -> Option<Cycles>;

    /// Grant a new packet a lane (virtual channel) of one of these links; one lane must be
    /// available. Return the time at which the packet starts.
    fn inject<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        run: Run,
        now: Cycles,
    ) -> Cycles;

    /// Handle the arrival of a packet's header at a switch, where it requests its next links.
    /// `alone`: no other event happens in this tick.
    fn arrive<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        alone: bool,
        now: Cycles,
    );

    /// Handle a resource that becomes free and for which a header may wait.
    fn wake<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, group: u32, alone: bool, now: Cycles);

    /// Handle a resource that becomes free and for which packets in an output buffer may wait.
    fn wake_output<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, link: u32, now: Cycles);

    /// Grant links to waiting packets at the end of a tick.
    fn end_tick<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, now: Cycles);

    /// Return the load of a link as [`LocalView::occupied`] defines it.
    fn occupied<T: Copy, W: Routes>(core: &Core<T, W, Self>, link: u32) -> u64;

    /// Return the contribution of a waiting packet to the load [`LocalView::waiting`]: 1, or its
    /// number of bytes, depending on the switching method.
    fn weight(packet: &Packet) -> u64;

    /// Read the state of the next links of a packet, so that the processor caches it. The result
    /// has no meaning.
    fn prefetch(&self, links: &Links, lane: LaneId, run: Run, class: u16) -> u64;
}

/// Engine for networks with the switching method `H`.
#[derive(Debug, Clone)]
pub(super) struct Core<T, W, H> {
    pub(super) routes: Arc<W>,
    pub(super) rules: Rules,
    pub(super) seed: u64,
    pub(super) now: Cycles,
    pub(super) queue: Queue,
    pub(super) messages: Slab<MessageId, MessageState<T>>,
    /// Number of offered messages that are still to be generated.
    pub(super) scheduled: u64,
    pub(super) packets: Packets,
    /// Network interface of each node.
    pub(super) nics: Vec<Nic>,
    pub(super) lanes: Lanes,
    /// State of the switching method: the resources that packets occupy.
    pub(super) holding: H,
    pub(super) links: Links,
    /// Packet headers that wait, by group of links. A group has the number of its first link.
    pub(super) groups: Vec<Group>,
    /// Packets that get links at the end of this tick, because the header of no other packet waited
    /// for these links. A packet waits, too, if another one requests them by then.
    pub(super) requesting: Vec<PacketId>,
    /// Groups of links, and output buffers, to check when the tick ends. An output buffer is stored
    /// as its link plus [`MARK`](super::outputs::MARK).
    pub(super) dirty_groups: Vec<u32>,
    /// Nodes that must try to inject when the tick ends.
    pub(super) dirty_nics: Vec<u32>,
    /// Output buffers to check when the tick ends, after the groups of links in `dirty_groups`.
    pub(super) dirty_outputs: Vec<u32>,
    /// For each node, the requested reminders in order of time. Empty if no reminder was ever
    /// requested.
    reminders: Vec<VecDeque<(Cycles, T)>>,
    /// Messages and reminders that the handler offers in answer to a report.
    offers: Offers<T>,
    /// Propagation delay of each link in ticks; empty in a plain network, whose links have no delay
    /// (see [`Routes::PLAIN`]).
    lengths: Vec<Cycles>,
    /// Whether the network is so large that prefetching saves time.
    pub(super) large: bool,
}

impl<T: Copy, W: Routes, S: SwitchingMethod> LocalView for Core<T, W, S> {
    /// Return the load of a link: its occupied lanes (virtual channels) or bytes.
    fn occupied(&self, link: u32) -> u64 {
        S::occupied(self, link)
    }

    /// Return the load of the packets that wait for any of the equivalent links of which `first` is
    /// the first.
    fn waiting(&self, first: u32) -> u64 {
        let waiting = self.groups[first as usize].waiting.iter();
        waiting
            .map(|waiter| S::weight(self.packets.get(waiter.packet)))
            .sum()
    }
}

impl<T: Copy, W: Routes, S: SwitchingMethod> Core<T, W, S> {
    /// Return an idle engine at time 0. The rules must be valid.
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
        // Choose the time span of the event queue, in packet lengths: most events that a packet
        // causes happen within a few of them. A small network has few events per tick, so the span
        // may be longer.
        let lengths = if large { 4 } else { 16 };
        let packet = rules.byte * rules.wire_bytes(u64::from(rules.payload));
        let longest = (0..count).map(|link| routes.length(link)).max();
        let span = lengths * packet + longest.unwrap_or(0);
        let interface = &rules.interface;
        let nic = Nic::new(interface.queues, interface.slice);
        Self {
            nics: vec![nic; routes.node_count() as usize],
            packets: Packets::new(routes.longest_route()),
            messages: Slab::new(),
            scheduled: 0,
            queue: Queue::new(span),
            offers: Offers::default(),
            requesting: Vec::new(),
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

    /// Return the number of messages that are generated and not delivered.
    pub fn under_way(&self) -> u64 {
        self.messages.len() as u64 - self.scheduled
    }

    /// Schedule the generation of a message at its source node at `time`, which must not be in the
    /// past.
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

    /// Schedule a call of the handler's reminder function for `node` at `time`, with `tag`.
    pub fn remind(&mut self, time: Cycles, node: u32, tag: T) {
        self.offers.remind(time, node, tag);
        self.take_reminders();
    }

    /// Run the simulation until `limit`, until no event is left, or until the handler has finished.
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
                if upcoming.len() >= PREFETCH_EVENTS_MIN && slot != Some(present) {
                    slot = Some(present);
                    self.prefetch_slot(upcoming);
                }
            }
            self.now = now;
            // Most ticks have one event only. Then the engine can handle its effects at once, not
            // at the end of the tick.
            let alone = !self.queue.has_more_now() && self.is_tick_done();
            match event.kind() {
                Kind::Arrive => S::arrive(self, event.packet(), alone, now),
                Kind::Deliver => self.deliver(event.packet(), now, handler),
                Kind::Wake => S::wake(self, event.subject(), alone, now),
                Kind::Inject => {
                    let node = event.subject();
                    self.nics[node as usize].wake = NEVER;
                    if alone {
                        self.inject(node, now);
                    } else {
                        self.request_injection(node);
                    }
                }
                Kind::Send => S::wake_output(self, event.subject(), now),
                Kind::Start => self.start(event.rank(), event.subject()),
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
            if !self.queue.has_more_now() {
                if !self.is_tick_done() {
                    self.end_tick(now);
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

    /// Read the data of all events of a slot of the event queue. In a large network these data are
    /// no longer in the processor caches. Reading them together overlaps the waits for memory.
    fn prefetch_slot(&self, upcoming: &[(Cycles, Event)]) {
        let mut read = 0;
        for (_, event) in upcoming {
            let subject = event.subject();
            read ^= match event.kind() {
                Kind::Arrive | Kind::Deliver => {
                    u64::from(self.packets.get(event.packet()).header.to)
                }
                Kind::Wake => self.groups[subject as usize].waiting.len() as u64,
                Kind::Inject => self.nics[subject as usize].ready,
                Kind::Generate => self.nics[event.rank() as usize].prefetch(),
                Kind::Start | Kind::Remind | Kind::Send => 0,
            };
        }
        for (_, event) in upcoming {
            let subject = event.subject();
            read ^= match event.kind() {
                Kind::Arrive => {
                    let Packet {
                        run, header, lane, ..
                    } = *self.packets.get(event.packet());
                    let held = self.holding.prefetch(&self.links, lane, run, header.class);
                    held ^ self.links.prefetch(run)
                        ^ self.groups[run.first as usize].waiting.len() as u64
                        ^ self.packets.prefetch_path(event.packet(), header.links)
                }
                Kind::Deliver => {
                    let Packet {
                        header, message, ..
                    } = *self.packets.get(event.packet());
                    let nic = &self.nics[header.to as usize];
                    nic.ready ^ nic.received ^ self.messages[message].prefetch()
                }
                Kind::Wake => {
                    let Group { links, waiting, .. } = &self.groups[subject as usize];
                    let run = Run {
                        first: subject,
                        links: *links,
                    };
                    self.links.prefetch(run) ^ waiting.first().map_or(0, |waiter| waiter.since)
                }
                Kind::Inject => {
                    let nic = &self.nics[subject as usize];
                    let message = nic.turns.front();
                    let message = message.map_or(0, |&message| self.messages[message].prefetch());
                    message ^ nic.sent ^ self.links.prefetch(self.routes.node_links(subject))
                }
                Kind::Generate => {
                    let message = self.nics[event.rank() as usize].next_scheduled();
                    message.map_or(0, |message| self.messages[message].prefetch())
                }
                Kind::Start | Kind::Remind | Kind::Send => 0,
            };
        }
        for (_, event) in upcoming {
            if event.kind() == Kind::Wake {
                let waiting = self.groups[event.subject() as usize].waiting.iter();
                read ^= waiting.fold(0, |read, waiter| {
                    read ^ u64::from(self.packets.get(waiter.packet).header.links)
                });
            }
        }
        std::hint::black_box(read);
    }

    /// Accept the messages that the handler has just offered.
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

    /// Accept the reminders that the handler has just requested.
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
            let node_reminders = &mut self.reminders[node as usize];
            let at = node_reminders.partition_point(|&(earlier, _)| earlier <= time);
            node_reminders.insert(at, (time, tag));
            self.queue.push(time, Event::new(Kind::Remind, node, 0));
        }
    }

    /// Finish a tick: grant outputs to waiting packets, then let nodes inject.
    fn end_tick(&mut self, now: Cycles) {
        S::end_tick(self, now);
        while let Some(node) = self.dirty_nics.pop() {
            self.nics[node as usize].dirty = false;
            self.inject(node, now);
        }
    }

    /// Return whether no work is scheduled so far for the end of the present tick.
    #[inline]
    fn is_tick_done(&self) -> bool {
        self.requesting.is_empty() && self.dirty_groups.is_empty() && self.dirty_nics.is_empty()
    }

    /// Return whether a link with this end is the last of a route: it leads to a node, not to a
    /// switch.
    #[inline]
    pub(super) fn is_last(&self, end: End) -> bool {
        (end.vertex as usize) < self.nics.len()
    }

    /// Return the propagation delay of a link.
    #[inline]
    pub(super) fn length(&self, link: u32) -> Cycles {
        if W::PLAIN {
            return 0;
        }
        self.lengths[link as usize]
    }

    /// Choose the links that a packet requests at the switch to which its new link leads.
    #[inline]
    pub(super) fn choose_next_links(&mut self, packet: PacketId, end: End) {
        let state = self.packets.get_mut(packet);
        let channel = self.lanes.channel(state.lane);
        let Header { from, links, .. } = state.header;
        let link = network_choice::<W>(u32::from(links));
        let random = || tie(self.seed, from, state.number, link);
        state.run = self.routes.next_links(&mut state.header, end, random);
        debug_assert_eq!(self.groups[state.run.first as usize].links, state.run.links);
        debug_assert!(W::PLAIN || u32::from(state.header.class) < self.routes.classes());
        state.input = end.port * self.lanes.channels() + channel;
    }

    /// Return the rule and data that decide among equally old headers that wait for a group of
    /// links.
    #[inline]
    pub(super) fn tie_break(&self, group: u32, now: Cycles) -> TieBreak {
        TieBreak {
            tie: self.rules.age.tie,
            served: self.links.served(group),
            seed: self.seed,
            now,
            group,
        }
    }

    /// Return the horizon: packets whose age counts from before this time are equally old, because
    /// ages saturate.
    #[inline]
    pub(super) fn horizon(&self, now: Cycles) -> Cycles {
        let saturates = self.rules.age.saturates;
        saturates.map_or(0, |age| now.saturating_sub(age))
    }

    /// Return the time at which the sender of a packet that arrives now receives its
    /// acknowledgement.
    #[inline]
    fn acknowledged_at(&self, packet: PacketId, now: Cycles) -> Cycles {
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

    /// Handle the arrival of the tail of a packet at its destination node.
    fn deliver<H: Handler<Tag = T>>(&mut self, packet: PacketId, now: Cycles, handler: &mut H) {
        let state = *self.packets.get(packet);
        let known = self.acknowledged_at(packet, now);
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
            let ready = handler.read_requested(now, &message.message);
            return self.reply(state.message, ready);
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

/// Return the number of ticks for which a packet occupies a link on which it starts at `start`.
/// `last`: the link is the last of the route.
#[inline]
pub(super) fn ticks_on(rules: &Rules, last: bool, packet: &Packet, start: Cycles) -> Cycles {
    let ticks = u64::from(packet.ticks);
    match rules.late {
        Some(late) if last && start - packet.injected > late.older_than => ticks + late.extra,
        _ => ticks,
    }
}
