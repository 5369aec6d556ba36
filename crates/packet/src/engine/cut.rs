//! Cut-through switching with finite buffers and credits. Credits report free buffer space to the
//! sender of a link.

use super::core::{Core, NEVER, SwitchingMethod, ticks_on};
use super::equals::choose_equal;
use super::event::{Event, Kind};
use super::group::Waiter;
use super::lanes::{LaneId, Lanes};
use super::links::{Links, NextCheck};
use super::outputs::OutputBuffers;
use super::packets::{MessageId, Packet, PacketId, Step};
use super::returns::{Overflow, Returns};
use crate::readings::{Adaptive, AgeFrom, LinkLoad, LinkTie};
use crate::routes::{Header, Routes, Run, pick};
use crate::rules::Outputs;
use isthmus_kernel::{Cycles, Id, Table};

/// State of a virtual channel of a link, with the buffer at its receiving end. Two records of 32
/// bytes fit into one cache line.
#[derive(Debug, Clone)]
#[repr(align(32))]
pub(super) struct Lane {
    /// Time at which the tail of the previous packet has left the buffer.
    tail_left: Cycles,
    /// Credits on their way back to the sender.
    returning: Returns,
    /// First and last of the packets that are in the buffer or on the link to it.
    first: PacketId,
    last: PacketId,
}

// Two records must fit into a cache line of 64 bytes.
const _: () = assert!(size_of::<Lane>() == 32);

impl Lane {
    /// The state of an idle lane (virtual channel), whose buffer is empty and to which no credits
    /// return.
    const IDLE: Self = Self {
        tail_left: 0,
        returning: Returns::new(),
        first: PacketId::NONE,
        last: PacketId::NONE,
    };
}

/// Buffers behind the links of a network with cut-through switching, and the credits of their
/// senders.
#[derive(Debug, Clone)]
pub(super) struct Buffers {
    pub(super) lanes: Table<LaneId, Lane>,
    /// Credits on their way back to the senders, except the first return of each lane (virtual
    /// channel), which is stored with the lane.
    overflow: Overflow,
    /// For each packet except the last of its lane (virtual channel), the next packet of the same
    /// lane.
    behind: Table<PacketId, PacketId>,
    /// For each lane (virtual channel), the free bytes of its buffer that the sender knows of.
    credits: Table<LaneId, u32>,
    /// For each group of links, whether it is in the list of groups to check when the tick ends.
    pub(super) check_pending: Vec<bool>,
    numbers: Lanes,
    /// Size of the buffer of each lane (virtual channel) in bytes.
    buffer: u32,
    /// Ticks from the departure of a tail from a buffer until the sender of the link receives the
    /// credits.
    pub(super) credit: Cycles,
    /// Buffers behind the crossbars of the switches, if any.
    pub(super) outputs: Option<Box<OutputBuffers>>,
    /// For each packet, the time of arrival of its header at its next switch. `None` if no rule
    /// needs the times.
    pub(super) head_arrivals: Option<Vec<Cycles>>,
    /// Rule for the choice among several possible links.
    pub(super) adaptive: Adaptive,
}

impl Buffers {
    /// Return the state of a network in which all buffers are empty and no credits are on their
    /// way.
    pub fn new(
        links: u32,
        numbers: Lanes,
        buffer: u32,
        credit: Cycles,
        outputs: Option<Outputs>,
    ) -> Self {
        Self {
            credits: Table::of(numbers.count(links), buffer),
            lanes: Table::of(numbers.count(links), Lane::IDLE),
            overflow: Overflow::new(),
            behind: Table::from(Vec::new()),
            check_pending: vec![false; links as usize],
            numbers,
            buffer,
            credit,
            outputs: outputs.map(|outputs| Box::new(OutputBuffers::new(links, outputs))),
            head_arrivals: None,
            adaptive: Adaptive::default(),
        }
    }

    /// Set the time of arrival of the header of a packet at its next switch.
    #[inline]
    fn set_head_arrival(&mut self, packet: PacketId, time: Cycles) {
        if let Some(head_arrivals) = &mut self.head_arrivals {
            if head_arrivals.len() <= packet.index() {
                head_arrivals.resize(packet.index() + 1, 0);
            }
            head_arrivals[packet.index()] = time;
        }
    }

    /// Return the time of arrival of the header of a packet at its switch, if the times are stored.
    pub(super) fn head_arrival(&self, packet: PacketId) -> Option<Cycles> {
        Some(self.head_arrivals.as_ref()?[packet.index()])
    }

    /// Add a packet at the end of the queue of a lane (virtual channel).
    #[inline]
    fn push(&mut self, lane: LaneId, packet: PacketId) {
        let lane = &mut self.lanes[lane];
        let last = std::mem::replace(&mut lane.last, packet);
        if lane.first == PacketId::NONE {
            lane.first = packet;
            return;
        }
        match self.behind.get_mut(last) {
            Some(behind) => *behind = packet,
            None => self.push_behind(last, packet),
        }
    }

    /// Store in the table `behind` that `packet` follows packet `last`; the table grows as needed.
    #[cold]
    fn push_behind(&mut self, last: PacketId, packet: PacketId) {
        while self.behind.values().len() < last.index() {
            self.behind.push(PacketId::NONE);
        }
        self.behind.push(packet);
    }

    /// Remove the first packet from the queue of a lane (virtual channel). Its tail leaves the
    /// buffer at time `tail`. Return the packet behind it, if any.
    #[inline]
    fn pop(&mut self, lane: LaneId, tail: Cycles) -> Option<PacketId> {
        let lane = &mut self.lanes[lane];
        lane.tail_left = tail;
        if lane.first == lane.last {
            lane.first = PacketId::NONE;
            return None;
        }
        lane.first = self.behind[lane.first];
        Some(lane.first)
    }

    /// Add to the lanes (virtual channels) of a run of links the credits that have come back by
    /// now.
    #[inline]
    pub(super) fn collect(&mut self, links: &mut Links, run: Run, now: Cycles) {
        for link in run.iter() {
            let record = links.get_mut(link);
            if record.next_credit_return() > now {
                continue;
            }
            let (mut next, mut returning_channels) = (NEVER, record.returning_channels());
            let mut left = returning_channels;
            while left != 0 {
                let lane = self.numbers.lane(link, left.trailing_zeros());
                let returning = &mut self.lanes[lane].returning;
                self.credits[lane] += returning.take_due(now, &mut self.overflow);
                if returning.next() == NEVER {
                    returning_channels ^= left & left.wrapping_neg();
                }
                next = next.min(returning.next());
                left &= left - 1;
            }
            record.set_returning_credits(next, returning_channels);
        }
    }

    /// Schedule the return of credits for `bytes` of the buffer of a lane (virtual channel) to the
    /// sender at `time`.
    #[inline]
    fn return_credits(&mut self, links: &mut Links, lane: LaneId, time: Cycles, bytes: u32) {
        (self.lanes[lane].returning).push(time, bytes, &mut self.overflow);
        let record = links.get_mut(self.numbers.link(lane));
        let returning_channels = record.returning_channels() | 1 << self.numbers.channel(lane);
        record.set_returning_credits(time.min(record.next_credit_return()), returning_channels);
    }

    /// Return the lane (virtual channel) of a link and class with the most free buffer space, the
    /// first of equals. `None` if no lane has space for `bytes`.
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

    /// Return the free bytes of the buffers behind a link, summed over its lanes (virtual
    /// channels).
    pub(super) fn credits(&self, link: u32) -> u64 {
        let credits = self.credits.values()[self.numbers.of_link(link)].iter();
        credits.copied().map(u64::from).sum()
    }

    /// Return whether a packet of `bytes` bytes and of class `class` can start on a link at time
    /// `now`.
    #[inline]
    pub(super) fn fits(
        &self,
        links: &Links,
        link: u32,
        class: u16,
        bytes: u32,
        now: Cycles,
    ) -> bool {
        links.get(link).transmitter <= now && self.roomiest(link, class, bytes).is_some()
    }

    /// Return the time at which a packet of `bytes` bytes can start on one of these links, or at
    /// which to ask again. Return `None` if no such time is known.
    pub fn room_at(
        &mut self,
        links: &mut Links,
        run: Run,
        class: u16,
        bytes: u32,
        now: Cycles,
    ) -> Option<Cycles> {
        self.collect(links, run, now);
        let fits = |link| self.fits(links, link, class, bytes, now);
        if run.iter().any(fits) {
            return Some(now);
        }
        let time = links.next_change(run, now);
        (time < NEVER).then_some(time)
    }

    /// Return the largest free buffer space, in bytes, of a lane (virtual channel) of this class at
    /// those links of `run`, a range of links, whose transmitters are free.
    fn room(&self, links: &Links, run: Run, class: u16, now: Cycles) -> u32 {
        let mut most = 0;
        for link in run.iter() {
            if links.get(link).transmitter <= now {
                for &credits in &self.credits.values()[self.numbers.of_class(link, class)] {
                    most = credits.max(most);
                }
            }
        }
        most
    }

    /// Return the lane (virtual channel) for a packet. Among the links on which the packet fits,
    /// [`LinkLoad`] and then [`LinkTie`] choose the link. Among the lanes of that link, the lane
    /// with the most free space wins, the first of equals.
    fn choose(
        &self,
        links: &Links,
        run: Run,
        class: u16,
        bytes: u32,
        now: Cycles,
        random: impl FnOnce() -> u64,
    ) -> LaneId {
        if run.links == 1 {
            let lane = self.roomiest(run.first, class, bytes);
            return lane.expect("the link has room");
        }
        // Merit of a link, `None` if the packet does not fit on it: the room in all lanes of its
        // class.
        let room = |link: u32| {
            if links.get(link).transmitter > now {
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
            let mut skip = pick(ties, random());
            while skip > 0 {
                link += 1;
                skip -= u32::from(room(link) == best);
            }
        } else if ties > 1 {
            let equals = run.iter().filter(|&link| room(link) == best);
            let free = |link: u32| links.get(link).transmitter;
            link = choose_equal(self.adaptive.tie, equals, free, random).unwrap_or(link);
        }
        self.roomiest(link, class, bytes).expect("a link has room")
    }
}

impl SwitchingMethod for Buffers {
    /// With cut-through switching, a packet occupies a lane (virtual channel) no longer than the
    /// transmitter of its link.
    const LANES: bool = false;

    /// Return when the next packet of `message` can start on one of the links of `run`.
    #[inline]
    fn links_free<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        header: &Header,
        run: Run,
        message: MessageId,
        now: Cycles,
    ) -> Option<Cycles> {
        let left = core.messages[message].unsent;
        let payload = left.min(u64::from(core.rules.payload));
        let wire = core.rules.wire_bytes(payload) as u32;
        (core.holding).room_at(&mut core.links, run, header.class, wire, now)
    }

    /// Grant a new packet a lane (virtual channel) with room on the links of `run`. Return the time
    /// at which it starts.
    fn inject<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        run: Run,
        now: Cycles,
    ) -> Cycles {
        let state = core.packets.get(packet);
        let random = || state.random(core.seed);
        let class = state.header.class;
        let lane = (core.holding).choose(&core.links, run, class, state.wire, now, random);
        core.cut_grant(packet, lane, run.first, now);
        now
    }

    /// Handle the request of a header for its next links. Only the first packet of a buffer may
    /// request an output, and only after the previous packet has left the buffer.
    fn arrive<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        packet: PacketId,
        _alone: bool,
        now: Cycles,
    ) {
        let state = core.packets.get_mut(packet);
        state.ready = true;
        let state = *state;
        let lane = &core.holding.lanes[state.lane];
        if lane.first != packet {
            return;
        }
        let tail_left = lane.tail_left;
        if tail_left > now {
            return core
                .queue
                .push(tail_left, Event::new(Kind::Arrive, 0, packet.number()));
        }
        let group = state.run.first;
        let since = match core.rules.age.from {
            AgeFrom::Message => core.messages[state.message].generated,
            AgeFrom::Injection => state.injected,
            AgeFrom::Arrival => core.holding.head_arrival(packet).unwrap_or(now),
            AgeFrom::Request => now,
        };
        core.groups[group as usize].waiting.push(Waiter {
            since,
            input: state.input,
            packet,
        });
        let next_check = &mut core.links.get_mut(group).next_check;
        *next_check = (*next_check).min(NextCheck::UNKNOWN);
        core.cut_check(group);
    }

    /// Handle a link that becomes available: check the headers that wait for its group of links.
    fn wake<T: Copy, W: Routes>(
        core: &mut Core<T, W, Self>,
        group: u32,
        _alone: bool,
        now: Cycles,
    ) {
        let next_check = &mut core.links.get_mut(group).next_check;
        // If another check is scheduled, this event is outdated: the header for which it was
        // scheduled has been served.
        if *next_check == NextCheck::at(now) {
            *next_check = NextCheck::UNKNOWN;
            core.cut_check(group);
        }
    }

    /// Handle a link that becomes available: check the output buffer whose packets wait for it.
    fn wake_output<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, link: u32, now: Cycles) {
        core.output_wake(link, now);
    }

    /// Grant links to headers that wait for groups of links, then start packets from output
    /// buffers.
    fn end_tick<T: Copy, W: Routes>(core: &mut Core<T, W, Self>, now: Cycles) {
        let outputs = core.holding.outputs.is_some();
        while let Some(group) = core.dirty_groups.pop() {
            if outputs {
                core.output_end_tick(group, now);
            } else {
                core.cut_arbitrate(group, now);
            }
        }
        while let Some(link) = core.dirty_outputs.pop() {
            core.output_send(link, now);
        }
    }

    /// Return the bytes that were sent over a link and still occupy the buffers behind it.
    fn occupied<T: Copy, W: Routes>(core: &Core<T, W, Self>, link: u32) -> u64 {
        let buffers = &core.holding;
        let lanes = buffers.numbers.of_link(link);
        let spent = u64::from(buffers.buffer) * lanes.len() as u64 - buffers.credits(link);
        if core.links.get(link).next_credit_return() > core.now {
            return spent;
        }
        let lanes = buffers.lanes.values()[lanes].iter();
        spent
            - lanes
                .map(|lane| u64::from(lane.returning.due_bytes(core.now, &buffers.overflow)))
                .sum::<u64>()
    }

    /// Return the size of a packet in bytes. The sizes of waiting packets add up to their load.
    fn weight(packet: &Packet) -> u64 {
        packet.wire.into()
    }

    /// Read the state of a packet's lane (virtual channel) and next links, so that the processor
    /// caches it.
    fn prefetch(&self, links: &Links, lane: LaneId, run: Run, class: u16) -> u64 {
        let mut read = links.get(self.numbers.link(lane)).transmitter ^ self.lanes[lane].tail_left;
        for link in run.iter() {
            let lanes = self.numbers.of_class(link, class);
            read ^= u64::from(self.credits.values()[lanes.start]);
            let lanes = &self.lanes.values()[lanes];
            read ^= lanes[0].tail_left ^ lanes[lanes.len() - 1].tail_left;
        }
        read
    }
}

impl<T: Copy, W: Routes> Core<T, W, Buffers> {
    /// Schedule a check, at the end of this tick, of a group of links for which headers wait.
    #[inline]
    fn cut_check(&mut self, group: u32) {
        let check_pending = &mut self.holding.check_pending[group as usize];
        if !*check_pending {
            *check_pending = true;
            self.dirty_groups.push(group);
        }
    }

    /// Schedule a check of a group of links at `time`, unless an earlier one is scheduled or no
    /// header waits.
    #[inline]
    pub(super) fn cut_check_at(&mut self, group: u32, time: Cycles) {
        if self.links.get_mut(group).next_check.advance_to(time) {
            self.queue.push(time, Event::new(Kind::Wake, 0, group));
        }
    }

    /// Grant links of a group to waiting headers as long as a transmitter is free and a packet fits
    /// into the buffer behind it.
    pub(super) fn cut_arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        let run = Run {
            first: group,
            links: self.groups[group as usize].links,
        };
        self.holding.check_pending[group as usize] = false;
        self.holding.collect(&mut self.links, run, now);
        loop {
            let (network, links) = (&self.holding, &self.links);
            if self.groups[group as usize].waiting.is_empty() {
                self.links.get_mut(group).next_check = NextCheck::NOBODY;
                return;
            }
            let tie_break = self.tie_break(group, now);
            let waiters = &mut self.groups[group as usize];
            // In a network of type `PLAIN` all waiting packets have one class, so compute the free
            // space of the buffer once for all of them.
            let shared = W::PLAIN.then(|| network.room(links, run, 0, now));
            let packets = &self.packets;
            let fits = |packet: PacketId| {
                let state = packets.get(packet);
                let room = || network.room(links, run, state.header.class, now);
                state.wire <= shared.unwrap_or_else(room)
            };
            let Some(index) = waiters.oldest(horizon, tie_break, fits) else {
                let time = links.next_change(run, now);
                return self.cut_check_at(group, time);
            };
            let Waiter { packet, input, .. } = waiters.waiting.swap_remove(index);
            self.links.set_served(group, input);
            let state = self.packets.get(packet);
            let random = || state.random(self.seed);
            let class = state.header.class;
            let lane = network.choose(&self.links, run, class, state.wire, now, random);
            let tail = now + u64::from(state.ticks);
            self.cut_leave(packet, tail);
            self.cut_grant(packet, lane, group, now);
        }
    }

    /// Remove the first packet of a buffer, in a network with cut-through switching. Its tail
    /// leaves the buffer at time `tail`.
    #[inline]
    pub(super) fn cut_leave(&mut self, packet: PacketId, tail: Cycles) {
        let state = *self.packets.get(packet);
        let lane = state.lane;
        let length = self.length(self.lanes.link(lane));
        let network = &mut self.holding;
        let back = tail + network.credit + length;
        let outputs = network.outputs.is_some();
        let next = network.pop(lane, tail);
        network.return_credits(&mut self.links, lane, back, state.wire);
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
                self.schedule_injection(state.header.from, time);
            }
        } else if outputs {
            self.output_check_at(self.lanes.link(lane), back);
        } else {
            let path = self.packets.path(packet);
            let group = path[path.len() - 1].group;
            self.cut_check_at(group, back);
        }
    }

    /// Grant a packet a lane (virtual channel): the link, and space in the buffer behind it.
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
        self.links.occupy(link, now, ticks);
        let length = self.length(link);
        let network = &mut self.holding;
        let credit = network.credit;
        network.credits[lane] -= wire;
        if last {
            let tail = now + ticks + length;
            network.return_credits(&mut self.links, lane, tail + credit + length, wire);
            self.queue
                .push(tail, Event::new(Kind::Deliver, link, packet.number()));
        } else {
            network.push(lane, packet);
            let time = now + hop + length;
            network.set_head_arrival(packet, time);
            self.choose_next_links(packet, end);
            self.queue
                .push(time, Event::new(Kind::Arrive, 0, packet.number()));
        }
    }
}
