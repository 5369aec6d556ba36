//! Cut-through switching with output buffers: buffers behind the crossbars of switches. Packets
//! cross a switch into an output buffer faster than a link carries them. All packets have the same
//! class of channels.

use super::core::{Core, NEVER};
use super::cut::Buffers;
use super::equals::choose_equal;
use super::event::{Event, Kind};
use super::group::Waiter;
use super::packets::{Packet, PacketId};
use super::returns::{Overflow, Returns};
use crate::readings::LinkLoad;
use crate::routes::{Routes, Run};
use crate::rules::Outputs;
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// Bit that marks an entry in the list of groups to check as an output buffer; numbers of links are
/// below 2^28.
pub(super) const MARK: u32 = 1 << 31;

/// Output buffer of a switch, at the start of a link.
#[derive(Debug, Clone)]
struct Output {
    /// Time at which the path into the buffer becomes free.
    path_free: Cycles,
    /// Free space of the buffer in bytes.
    room: u32,
    /// Bytes that become free when the tails of packets have left for the link.
    returning: Returns,
    /// Packets that wait for the link.
    packets: VecDeque<PacketId>,
    /// Time of the next check; `NEVER` if none is scheduled.
    wake: Cycles,
    /// Whether the output buffer is in the list of those to check when the tick ends.
    check_pending: bool,
}

/// All output buffers, by link. Those of links out of nodes stay empty.
#[derive(Debug, Clone)]
pub(super) struct OutputBuffers {
    rules: Outputs,
    outputs: Vec<Output>,
    /// Further times at which space of output buffers becomes free. The first such time of each
    /// buffer is in the buffer's own entry of `outputs`.
    overflow: Overflow,
}

impl OutputBuffers {
    /// Return empty output buffers for the links of a network.
    pub fn new(links: u32, rules: Outputs) -> Self {
        let output = Output {
            path_free: 0,
            room: rules.buffer,
            returning: Returns::new(),
            packets: VecDeque::new(),
            wake: NEVER,
            check_pending: false,
        };
        Self {
            rules,
            outputs: vec![output; links as usize],
            overflow: Overflow::new(),
        }
    }

    /// Add the space of packets whose tails have left by now to the free space of the output
    /// buffers of a run (a set of equivalent links).
    fn collect(&mut self, run: Run, now: Cycles) {
        for link in run.iter() {
            let output = &mut self.outputs[link as usize];
            output.room += output.returning.take_due(now, &mut self.overflow);
        }
    }

    /// Return the free bytes of an output buffer; `None` if the path into it is busy.
    fn room(&self, link: u32, now: Cycles) -> Option<u32> {
        let output = &self.outputs[link as usize];
        (output.path_free <= now).then_some(output.room)
    }

    /// Return when one of the output buffers of a run (a set of equivalent links) may next have
    /// more free space or a free path into it, as far as known. The caller must call `collect`
    /// first.
    fn next_change(&self, run: Run, now: Cycles) -> Cycles {
        let changes = run.iter().map(|link| {
            let output = &self.outputs[link as usize];
            if output.path_free > now {
                return output.path_free;
            }
            output.returning.next()
        });
        changes.fold(NEVER, Cycles::min)
    }
}

impl<T: Copy, W: Routes> Core<T, W, Buffers> {
    /// Return the output buffers of the network, which exist whenever this is called.
    #[inline]
    fn outputs(&mut self) -> &mut OutputBuffers {
        match &mut self.holding.outputs {
            Some(outputs) => outputs,
            None => unreachable!("events of output buffers"),
        }
    }

    /// Check a group of links at the end of a tick, or store a marked output buffer for a check
    /// after the groups.
    pub(super) fn output_end_tick(&mut self, marked: u32, now: Cycles) {
        match marked & MARK {
            0 => self.output_arbitrate(marked, now),
            _ => self.dirty_outputs.push(marked & !MARK),
        }
    }

    /// Let waiting packets cross into the output buffers of a group as long as a path is free and
    /// the packet fits into its buffer.
    fn output_arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        let run = Run {
            first: group,
            links: self.groups[group as usize].links,
        };
        let buffers = &mut self.holding;
        buffers.check_pending[group as usize] = false;
        buffers.collect(&mut self.links, run, now);
        self.outputs().collect(run, now);
        loop {
            let network = &self.holding;
            let Some(outputs) = &network.outputs else {
                unreachable!("a network with output buffers")
            };
            if self.groups[group as usize].waiting.is_empty() {
                self.links.get_mut(group).next_check = super::links::NextCheck::NOBODY;
                return;
            }
            let tie_break = self.tie_break(group, now);
            let waiters = &mut self.groups[group as usize];
            let rooms = run.iter().filter_map(|link| outputs.room(link, now));
            let most = rooms.max().unwrap_or(0);
            let packets = &self.packets;
            let fits = |packet: PacketId| packets.get(packet).wire <= most;
            let Some(index) = waiters.oldest(horizon, tie_break, fits) else {
                let time = outputs.next_change(run, now);
                return self.cut_check_at(group, time);
            };
            let Waiter { packet, input, .. } = waiters.waiting.swap_remove(index);
            self.links.set_served(group, input);
            let state = self.packets.get(packet);
            let (ticks, wire) = (u64::from(state.ticks), state.wire);
            // Choose the best output buffer among those with room for the packet. With
            // `LinkLoad::Room`: the most room, then the most credits. With `LinkLoad::Idle`: a free
            // transmitter.
            let links = &self.links;
            let free = |link: u32| links.get(link).transmitter;
            let merit = |link: u32| {
                let room = outputs.room(link, now).filter(|&room| room >= wire)?;
                Some(match network.adaptive.load {
                    LinkLoad::Room => (room.into(), network.credits(link)),
                    LinkLoad::Idle => (NEVER - free(link).max(now), 0),
                })
            };
            let best = run.iter().filter_map(merit).max();
            let equals = run.iter().filter(|&link| merit(link) == best);
            let random = || state.random(self.seed);
            let link = choose_equal(network.adaptive.tie, equals, free, random);
            let link = link.expect("one has room");
            let crossed = now + outputs.rules.crossing(ticks);
            let head_arrival = network
                .head_arrival(packet)
                .expect("kept with output buffers");
            let tail = crossed.max(head_arrival + ticks);
            let output = &mut self.outputs().outputs[link as usize];
            output.path_free = crossed;
            output.room -= wire;
            output.packets.push_back(packet);
            self.output_check(link);
            self.cut_leave(packet, tail);
        }
    }

    /// Schedule a check of the output buffer of a link at the end of this tick.
    fn output_check(&mut self, link: u32) {
        let check_pending = &mut self.outputs().outputs[link as usize].check_pending;
        if !*check_pending {
            *check_pending = true;
            self.dirty_groups.push(link | MARK);
        }
    }

    /// Check the output buffer of a link, because a resource for which its packets wait has become
    /// free.
    pub(super) fn output_wake(&mut self, link: u32, now: Cycles) {
        let output = &mut self.outputs().outputs[link as usize];
        // If another check is scheduled, this event is outdated: the packet for which it was
        // scheduled has left.
        if output.wake == now {
            output.wake = NEVER;
            self.output_check(link);
        }
    }

    /// Schedule a check of the output buffer of a link at `time`, unless an earlier check is
    /// scheduled or the buffer is empty.
    pub(super) fn output_check_at(&mut self, link: u32, time: Cycles) {
        let output = &mut self.outputs().outputs[link as usize];
        if time < output.wake && !output.packets.is_empty() {
            output.wake = time;
            self.queue.push(time, Event::new(Kind::Send, 0, link));
        }
    }

    /// Start packets from an output buffer on its link as long as the transmitter is free and a
    /// lane (virtual channel) has credits.
    pub(super) fn output_send(&mut self, link: u32, now: Cycles) {
        self.outputs().outputs[link as usize].check_pending = false;
        let run = Run::one(link);
        self.holding.collect(&mut self.links, run, now);
        while let Some(&packet) = self.outputs().outputs[link as usize].packets.front() {
            let &Packet { wire, run: of, .. } = self.packets.get(packet);
            let network = &self.holding;
            if !network.fits(&self.links, link, 0, wire, now) {
                let time = self.links.next_change(run, now);
                return self.output_check_at(link, time);
            }
            let lane = network.roomiest(link, 0, wire).expect("it fits");
            self.cut_grant(packet, lane, of.first, now);
            let tail = self.links.get(link).transmitter;
            let OutputBuffers {
                outputs, overflow, ..
            } = self.outputs();
            let output = &mut outputs[link as usize];
            output.packets.pop_front();
            output.returning.push(tail, wire, overflow);
            self.cut_check_at(of.first, tail);
        }
    }
}
