//! Cut-through: finite buffers, and credits that tell what room there is.

use super::core::{Core, Holding, NEVER, ticks_on};
use super::equals::one_of_equals;
use super::event::{Event, Kind};
use super::group::Waiter;
use super::lanes::{LaneId, Lanes};
use super::links::Look;
use super::messages::MessageId;
use super::outputs::OutputBuffers;
use super::packets::{Packet, PacketId, Step};
use super::returns::Returns;
use crate::readings::{Adaptive, AgeFrom, LinkLoad, LinkTie};
use crate::rules::Outputs;
use crate::ways::{Header, Run, Ways, drawn};
use isthmus_kernel::{Cycles, Id, Table};
use std::collections::VecDeque;

/// A virtual channel of a link and the buffer behind it.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    /// When the tail of the packet before the first has left.
    clear: Cycles,
    /// Room that the sender will know of.
    returning: Returns,
    /// Packets in the buffer or on the link to it.
    packets: VecDeque<PacketId>,
}

/// What is to happen at a link.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// From when on its transmitter is free.
    transmitter: Cycles,
    /// When the next credits come back; never if none do.
    credits: Cycles,
}

const IDLE: Times = Times {
    transmitter: 0,
    credits: NEVER,
};

/// The links of a network with cut-through.
#[derive(Debug, Clone)]
pub(super) struct Buffers {
    pub(super) lanes: Table<LaneId, Lane>,
    /// Of each lane the bytes of room that the sender knows of.
    credits: Table<LaneId, u32>,
    times: Vec<Times>,
    /// Whether a group is to be looked at when the tick ends.
    pub(super) looked: Vec<bool>,
    numbers: Lanes,
    buffer: u32,
    pub(super) credit: Cycles,
    /// Buffers behind the crossbars of the switches, if there are such.
    pub(super) outputs: Option<Box<OutputBuffers>>,
    /// When the header of each packet comes, or came, to the switch it goes to; kept where that
    /// matters.
    pub(super) heads: Option<Vec<Cycles>>,
    /// How packets choose among links.
    pub(super) adaptive: Adaptive,
}

impl Buffers {
    pub fn new(
        links: u32,
        numbers: Lanes,
        buffer: u32,
        credit: Cycles,
        outputs: Option<Outputs>,
    ) -> Self {
        let lane = Lane {
            clear: 0,
            returning: Returns::new(),
            packets: VecDeque::new(),
        };
        Self {
            credits: Table::of(numbers.count(links), buffer),
            lanes: Table::of(numbers.count(links), lane),
            times: vec![IDLE; links as usize],
            looked: vec![false; links as usize],
            numbers,
            buffer,
            credit,
            outputs: outputs.map(|outputs| Box::new(OutputBuffers::new(links, outputs))),
            heads: None,
            adaptive: Adaptive::default(),
        }
    }

    /// Notes when the header of a packet comes to the switch it goes to.
    #[inline]
    fn note_head(&mut self, packet: PacketId, time: Cycles) {
        if let Some(heads) = &mut self.heads {
            if heads.len() <= packet.index() {
                heads.resize(packet.index() + 1, 0);
            }
            heads[packet.index()] = time;
        }
    }

    /// When the header of a packet came to the switch it is at, if that is kept.
    pub(super) fn head(&self, packet: PacketId) -> Option<Cycles> {
        Some(self.heads.as_ref()?[packet.index()])
    }

    /// Takes in the credits that have come back.
    #[inline]
    pub(super) fn collect(&mut self, run: Run, now: Cycles) {
        for link in run.iter() {
            let times = &mut self.times[link as usize];
            if times.credits > now {
                continue;
            }
            times.credits = NEVER;
            let lanes = self.numbers.of(link);
            let credits = &mut self.credits.values_mut()[lanes.clone()];
            for (lane, credits) in self.lanes.values_mut()[lanes].iter_mut().zip(credits) {
                *credits += lane.returning.take(now);
                times.credits = times.credits.min(lane.returning.next());
            }
        }
    }

    /// Room behind a lane will be known at `time`.
    #[inline]
    fn give_back(&mut self, lane: LaneId, time: Cycles, bytes: u32) {
        self.lanes[lane].returning.push(time, bytes);
        let times = &mut self.times[self.numbers.link(lane) as usize];
        times.credits = times.credits.min(time);
    }

    /// From when on the transmitter of a link is free.
    #[inline]
    pub(super) fn transmitter(&self, link: u32) -> Cycles {
        self.times[link as usize].transmitter
    }

    /// When a link, whose credits have been collected, may change for the better, as far as known.
    #[inline]
    pub(super) fn next_change(&self, link: u32, now: Cycles) -> Cycles {
        let Times {
            transmitter,
            credits,
        } = self.times[link as usize];
        match transmitter > now {
            true => transmitter,
            false => credits,
        }
    }

    /// The lane of a link and class with most room, the first of those; it must hold `bytes`.
    pub(super) fn roomiest(&self, link: u32, class: u16, bytes: u32) -> Option<LaneId> {
        let mut best = None;
        let mut most = 0;
        for lane in self.numbers.of_class(link, class) {
            let credits = self.credits.values()[lane];
            if credits >= bytes && credits > most {
                best = Some(LaneId::new(lane as u32));
                most = credits;
            }
        }
        best
    }

    /// Bytes of room behind a link, all its lanes together.
    pub(super) fn credits(&self, link: u32) -> u64 {
        let credits = self.credits.values()[self.numbers.of(link)].iter();
        credits.copied().map(u64::from).sum()
    }

    /// Whether a packet of `bytes` can start on a link.
    #[inline]
    pub(super) fn fits(&self, link: u32, class: u16, bytes: u32, now: Cycles) -> bool {
        self.transmitter(link) <= now && self.roomiest(link, class, bytes).is_some()
    }

    /// When a packet of `bytes` can start on one of these links, or should be asked again, as far
    /// as known.
    pub fn room_at(&mut self, run: Run, class: u16, bytes: u32, now: Cycles) -> Option<Cycles> {
        self.collect(run, now);
        if run.iter().any(|link| self.fits(link, class, bytes, now)) {
            return Some(now);
        }
        let changes = run.iter().map(|link| self.next_change(link, now));
        let time = changes.fold(NEVER, Cycles::min);
        (time < NEVER).then_some(time)
    }

    /// The most room in a lane of this class of these links, if their transmitters are free.
    fn room(&self, run: Run, class: u16, now: Cycles) -> u32 {
        let idle = run.iter().filter(|&link| self.transmitter(link) <= now);
        let credits =
            idle.flat_map(|link| &self.credits.values()[self.numbers.of_class(link, class)]);
        credits.copied().max().unwrap_or(0)
    }

    /// The lane that a packet gets: of the links that it fits on that with most room in all, or any,
    /// of those by lot or by the rule for those; there the one with most room, the first of those.
    fn choose(
        &self,
        run: Run,
        class: u16,
        bytes: u32,
        now: Cycles,
        lot: impl FnOnce() -> u64,
    ) -> LaneId {
        // Room in all lanes of its class of a link that it fits on.
        let room = |link: u32| {
            if self.transmitter(link) > now {
                return None;
            }
            let (mut total, mut most) = (0, 0);
            for &credits in &self.credits.values()[self.numbers.of_class(link, class)] {
                total += u64::from(credits);
                most = most.max(credits);
            }
            let merit = match self.adaptive.load {
                LinkLoad::Room => total,
                LinkLoad::Idle => 0,
            };
            (most >= bytes).then_some(merit)
        };
        let (mut link, mut ties, mut best) = (run.first, 0, None);
        for other in run.iter() {
            let room = room(other);
            if room > best {
                (link, ties, best) = (other, 1, room);
            } else if room == best {
                ties += 1;
            }
        }
        if ties > 1 && self.adaptive.tie == LinkTie::Random {
            let mut skip = drawn(ties, lot());
            while skip > 0 {
                link += 1;
                skip -= u32::from(room(link) == best);
            }
        } else if ties > 1 {
            let equals = run.iter().filter(|&link| room(link) == best);
            let free = |link: u32| self.transmitter(link);
            link = one_of_equals(self.adaptive.tie, equals, free, lot).unwrap_or(link);
        }
        self.roomiest(link, class, bytes).expect("a link has room")
    }
}

impl Holding for Buffers {
    const LANES: bool = false;

    fn clear(&mut self) {
        for lane in self.lanes.values_mut() {
            lane.returning.clear();
            lane.packets.clear();
            lane.clear = 0;
        }
        self.credits.values_mut().fill(self.buffer);
        self.times.fill(IDLE);
        self.looked.fill(false);
        if let Some(outputs) = &mut self.outputs {
            outputs.clear();
        }
    }

    #[inline]
    fn links_free<T: Copy, W: Ways>(
        core: &mut Core<T, W, Self>,
        header: &Header,
        run: Run,
        message: MessageId,
        now: Cycles,
    ) -> Option<Cycles> {
        let left = core.messages[message].left;
        let payload = left.min(u64::from(core.rules.payload));
        let wire = core.rules.wire_bytes(payload) as u32;
        core.holding.room_at(run, header.class, wire, now)
    }

    fn inject<T: Copy, W: Ways>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        run: Run,
        now: Cycles,
    ) -> Cycles {
        let state = core.packets.get(packet);
        let lot = || state.lot(core.seed);
        let class = state.header.class;
        let lane = core.holding.choose(run, class, state.wire, now, lot);
        core.cut_grant(packet, lane, run.first, now);
        now
    }

    /// Only the first packet of its buffer may ask for an output, once the one before has left.
    fn arrive<T: Copy, W: Ways>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        _alone: bool,
        now: Cycles,
    ) {
        let state = core.packets.get_mut(packet);
        state.ready = true;
        let state = *state;
        let lane = &core.holding.lanes[state.lane];
        if lane.packets.front() != Some(&packet) {
            return;
        }
        let clear = lane.clear;
        if clear > now {
            return core
                .queue
                .push(clear, Event::new(Kind::Arrive, 0, packet.number()));
        }
        let group = state.run.first;
        let since = match core.rules.age.from {
            AgeFrom::Message => core.messages[state.message].generated,
            AgeFrom::Injection => state.injected,
            AgeFrom::Arrival => core.holding.head(packet).unwrap_or(now),
            AgeFrom::Request => now,
        };
        core.groups[group as usize].waiting.push(Waiter {
            since,
            input: state.input,
            packet,
        });
        let look = &mut core.links.get_mut(group).look;
        *look = (*look).min(Look::UNKNOWN);
        core.cut_look(group);
    }

    fn wake<T: Copy, W: Ways>(core: &mut Core<T, W, Self>, group: u32, _alone: bool, now: Cycles) {
        let look = &mut core.links.get_mut(group).look;
        // If it is to be looked at later, whoever waited for this has been served since.
        if *look == Look::at(now) {
            *look = Look::UNKNOWN;
            core.cut_look(group);
        }
    }

    fn send<T: Copy, W: Ways>(core: &mut Core<T, W, Self>, link: u32, now: Cycles) {
        core.output_wake(link, now);
    }

    /// Groups are looked at, then packets start from output buffers.
    fn settle<T: Copy, W: Ways>(core: &mut Core<T, W, Self>, now: Cycles) {
        let outputs = core.holding.outputs.is_some();
        while let Some(group) = core.dirty_groups.pop() {
            if outputs {
                core.output_settle(group, now);
            } else {
                core.cut_arbitrate(group, now);
            }
        }
        while let Some(link) = core.dirty_outputs.pop() {
            core.output_send(link, now);
        }
    }

    fn taken<T: Copy, W: Ways>(core: &Core<T, W, Self>, link: u32) -> u64 {
        let buffers = &core.holding;
        let lanes = buffers.numbers.of(link);
        let spent = u64::from(buffers.buffer) * lanes.len() as u64 - buffers.credits(link);
        if buffers.times[link as usize].credits > core.now {
            return spent;
        }
        let lanes = buffers.lanes.values()[lanes].iter();
        spent
            - lanes
                .map(|lane| u64::from(lane.returning.due(core.now)))
                .sum::<u64>()
    }

    fn weight(packet: &Packet) -> u64 {
        packet.wire.into()
    }

    fn call(&self, lane: LaneId, run: Run) -> u64 {
        run.iter().fold(self.lanes[lane].clear, |read, link| {
            let credits = self.credits[self.numbers.lane(link, 0)];
            read ^ u64::from(credits) ^ self.transmitter(link)
        })
    }
}

impl<T: Copy, W: Ways> Core<T, W, Buffers> {
    /// Notes that a group, in which headers wait, is to be looked at when the tick ends.
    #[inline]
    fn cut_look(&mut self, group: u32) {
        let looked = &mut self.holding.looked[group as usize];
        if !*looked {
            *looked = true;
            self.dirty_groups.push(group);
        }
    }

    /// Looks at a group again at `time`, unless it will be looked at before or nobody waits.
    #[inline]
    pub(super) fn cut_look_at(&mut self, group: u32, time: Cycles) {
        if self.links.get_mut(group).look.sooner(time) {
            self.queue.push(time, Event::new(Kind::Wake, 0, group));
        }
    }

    /// Gives links of a group to waiting headers as long as transmitters are free and something
    /// fits.
    pub(super) fn cut_arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        let run = Run {
            first: group,
            links: self.groups[group as usize].links,
        };
        self.holding.looked[group as usize] = false;
        self.holding.collect(run, now);
        loop {
            let network = &self.holding;
            if self.groups[group as usize].waiting.is_empty() {
                self.links.get_mut(group).look = Look::NOBODY;
                return;
            }
            let turn = self.turn(group, now);
            let waiters = &mut self.groups[group as usize];
            // In a plain network all find the same room.
            let shared = W::PLAIN.then(|| network.room(run, 0, now));
            let packets = &self.packets;
            let fits = |packet: PacketId| {
                let state = packets.get(packet);
                let room = shared.unwrap_or_else(|| network.room(run, state.header.class, now));
                state.wire <= room
            };
            let Some(index) = waiters.oldest(horizon, turn, fits) else {
                let changes = run.iter().map(|link| network.next_change(link, now));
                let time = changes.fold(NEVER, Cycles::min);
                return self.cut_look_at(group, time);
            };
            let Waiter { packet, input, .. } = waiters.waiting.swap_remove(index);
            self.links.serve(group, input);
            let state = self.packets.get(packet);
            let lot = || state.lot(self.seed);
            let class = state.header.class;
            let lane = network.choose(run, class, state.wire, now, lot);
            let tail = now + u64::from(state.ticks);
            self.cut_leave(packet, tail);
            self.cut_grant(packet, lane, group, now);
        }
    }

    /// A packet starts to leave the buffer that it is first of; its tail will have left at `tail`.
    #[inline]
    pub(super) fn cut_leave(&mut self, packet: PacketId, tail: Cycles) {
        let state = *self.packets.get(packet);
        let lane = state.lane;
        let length = self.length(self.lanes.link(lane));
        let network = &mut self.holding;
        let back = tail + network.credit + length;
        let outputs = network.outputs.is_some();
        let from = &mut network.lanes[lane];
        from.packets.pop_front();
        from.clear = tail;
        let next = from.packets.front().copied();
        network.give_back(lane, back, state.wire);
        if let Some(next) = next
            && self.packets.get(next).ready
        {
            self.queue
                .push(tail, Event::new(Kind::Arrive, 0, next.number()));
        }
        if state.header.links == 1 {
            let nic = &self.nics[state.header.from as usize];
            if !nic.turns.is_empty() {
                let time = nic.ready.max(back);
                self.inject_at(state.header.from, time);
            }
        } else if outputs {
            self.output_look_at(self.lanes.link(lane), back);
        } else {
            let path = self.packets.path(packet);
            let group = path[path.len() - 1].group;
            self.cut_look_at(group, back);
        }
    }

    /// A packet gets a link and room behind it.
    #[inline]
    pub(super) fn cut_grant(&mut self, packet: PacketId, lane: LaneId, group: u32, now: Cycles) {
        let link = self.lanes.link(lane);
        let hop = self.rules.hop;
        let end = self.links.ledger(link).end;
        let last = self.is_last(end);
        let state = self.packets.step(packet, Step { lane, group });
        state.ready = false;
        let wire = state.wire;
        let ticks = ticks_on(&self.rules, last, state, now);
        self.links.take(link, now, ticks);
        let length = self.length(link);
        let network = &mut self.holding;
        network.times[link as usize].transmitter = now + ticks;
        let credit = network.credit;
        network.credits[lane] -= wire;
        let to = &mut network.lanes[lane];
        if last {
            let tail = now + ticks + length;
            network.give_back(lane, tail + credit + length, wire);
            self.queue
                .push(tail, Event::new(Kind::Deliver, link, packet.number()));
        } else {
            to.packets.push_back(packet);
            let time = now + hop + length;
            network.note_head(packet, time);
            self.head_for(packet, end);
            self.queue
                .push(time, Event::new(Kind::Arrive, 0, packet.number()));
        }
    }
}
