//! Cut-through with output buffers: packets cross into them faster than links carry them. There is
//! one class of channels only.

use super::core::{Core, NEVER};
use super::cut::Buffers;
use super::equals::one_of_equals;
use super::event::{Event, Kind};
use super::group::Waiter;
use super::packets::{Packet, PacketId};
use super::returns::{Later, Returns};
use crate::readings::LinkLoad;
use crate::rules::Outputs;
use crate::routes::{Run, Routes};
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// Marks an output among the groups that are to be checked; there are fewer than 2^28 links.
pub(super) const MARK: u32 = 1 << 31;

/// The buffer at the begin of a link out of a switch.
#[derive(Debug, Clone)]
struct Output {
    /// Until when the way into it is taken.
    way: Cycles,
    /// Bytes of room.
    room: u32,
    /// Room that there will be.
    returning: Returns,
    /// Packets that wait for the link.
    packets: VecDeque<PacketId>,
    /// When it is to be looked at again; never if it need not be.
    wake: Cycles,
    /// Whether it is to be looked at when the tick ends.
    looked: bool,
}

/// All output buffers, by link; those of the links of nodes stay empty.
#[derive(Debug, Clone)]
pub(super) struct OutputBuffers {
    rules: Outputs,
    outputs: Vec<Output>,
    /// What their returns have beside their first.
    later: Later,
}

impl OutputBuffers {
    pub fn new(links: u32, rules: Outputs) -> Self {
        let output = Output {
            way: 0,
            room: rules.buffer,
            returning: Returns::new(),
            packets: VecDeque::new(),
            wake: NEVER,
            looked: false,
        };
        Self {
            rules,
            outputs: vec![output; links as usize],
            later: Later::new(),
        }
    }

    /// Takes in the room that tails have left.
    fn collect(&mut self, run: Run, now: Cycles) {
        for link in run.iter() {
            let output = &mut self.outputs[link as usize];
            output.room += output.returning.take(now, &mut self.later);
        }
    }

    /// The room of an output whose way is free.
    fn room(&self, link: u32, now: Cycles) -> Option<u32> {
        let output = &self.outputs[link as usize];
        (output.way <= now).then_some(output.room)
    }

    /// When one of these outputs, whose room has been collected, may change for the better, as far
    /// as known.
    fn next_change(&self, run: Run, now: Cycles) -> Cycles {
        let changes = run.iter().map(|link| {
            let output = &self.outputs[link as usize];
            if output.way > now {
                return output.way;
            }
            output.returning.next()
        });
        changes.fold(NEVER, Cycles::min)
    }
}

impl<T: Copy, W: Routes> Core<T, W, Buffers> {
    #[inline]
    fn outputs(&mut self) -> &mut OutputBuffers {
        match &mut self.holding.outputs {
            Some(outputs) => outputs,
            None => unreachable!("events of output buffers"),
        }
    }

    /// At the end of a tick: a group is looked at, or an output kept for after the groups.
    pub(super) fn output_settle(&mut self, marked: u32, now: Cycles) {
        match marked & MARK {
            0 => self.output_arbitrate(marked, now),
            _ => self.dirty_outputs.push(marked & !MARK),
        }
    }

    /// Lets waiting packets cross into the output buffers of a group as long as ways are free and
    /// something fits.
    fn output_arbitrate(&mut self, group: u32, now: Cycles) {
        let horizon = self.horizon(now);
        let run = Run {
            first: group,
            links: self.groups[group as usize].links,
        };
        let buffers = &mut self.holding;
        buffers.looked[group as usize] = false;
        buffers.collect(&mut self.links, run, now);
        self.outputs().collect(run, now);
        loop {
            let network = &self.holding;
            let Some(outputs) = &network.outputs else {
                unreachable!("a network with output buffers")
            };
            if self.groups[group as usize].waiting.is_empty() {
                self.links.get_mut(group).look = super::links::Look::NOBODY;
                return;
            }
            let turn = self.turn(group, now);
            let waiters = &mut self.groups[group as usize];
            let rooms = run.iter().filter_map(|link| outputs.room(link, now));
            let most = rooms.max().unwrap_or(0);
            let packets = &self.packets;
            let fits = |packet: PacketId| packets.get(packet).wire <= most;
            let Some(index) = waiters.oldest(horizon, turn, fits) else {
                let time = outputs.next_change(run, now);
                return self.cut_look_at(group, time);
            };
            let Waiter { packet, input, .. } = waiters.waiting.swap_remove(index);
            self.links.serve(group, input);
            let state = self.packets.get(packet);
            let (ticks, wire) = (u64::from(state.ticks), state.wire);
            // The outputs that it fits into best: those with most room, then with most credits; or
            // those whose transmitters are free.
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
            let lot = || state.lot(self.seed);
            let link = one_of_equals(network.adaptive.tie, equals, free, lot);
            let link = link.expect("one has room");
            let crossed = now + outputs.rules.crossing(ticks);
            let head = network.head(packet).expect("kept with output buffers");
            let tail = crossed.max(head + ticks);
            let output = &mut self.outputs().outputs[link as usize];
            output.way = crossed;
            output.room -= wire;
            output.packets.push_back(packet);
            self.output_look(link);
            self.cut_leave(packet, tail);
        }
    }

    /// Notes that an output is to be looked at when the tick ends.
    fn output_look(&mut self, link: u32) {
        let looked = &mut self.outputs().outputs[link as usize].looked;
        if !*looked {
            *looked = true;
            self.dirty_groups.push(link | MARK);
        }
    }

    /// Something comes free for which an output may wait.
    pub(super) fn output_wake(&mut self, link: u32, now: Cycles) {
        let output = &mut self.outputs().outputs[link as usize];
        // If it is to be checked later, the waiting packet has gone since.
        if output.wake == now {
            output.wake = NEVER;
            self.output_look(link);
        }
    }

    /// Looks at an output again at `time`, unless it will be looked at before or is empty.
    pub(super) fn output_look_at(&mut self, link: u32, time: Cycles) {
        let output = &mut self.outputs().outputs[link as usize];
        if time < output.wake && !output.packets.is_empty() {
            output.wake = time;
            self.queue.push(time, Event::new(Kind::Send, 0, link));
        }
    }

    /// Starts the first packets of an output on its link as long as that is free and has credits.
    pub(super) fn output_send(&mut self, link: u32, now: Cycles) {
        self.outputs().outputs[link as usize].looked = false;
        let run = Run::one(link);
        self.holding.collect(&mut self.links, run, now);
        while let Some(&packet) = self.outputs().outputs[link as usize].packets.front() {
            let &Packet { wire, run: of, .. } = self.packets.get(packet);
            let network = &self.holding;
            if !network.fits(&self.links, link, 0, wire, now) {
                let time = self.links.next_change(run, now);
                return self.output_look_at(link, time);
            }
            let lane = network.roomiest(link, 0, wire).expect("it fits");
            self.cut_grant(packet, lane, of.first, now);
            let tail = self.links.get(link).transmitter;
            let OutputBuffers { outputs, later, .. } = self.outputs();
            let output = &mut outputs[link as usize];
            output.packets.pop_front();
            output.returning.push(tail, wire, later);
            self.cut_look_at(of.first, tail);
        }
    }
}
