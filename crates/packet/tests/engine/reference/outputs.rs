//! Buffers behind the crossbars, looked at in every tick.

use super::Reference;
use super::state::Output;
use isthmus_kernel::Cycles;
use isthmus_packet::{Lane, LinkLoad, Outputs, Switching};
use std::cell::Cell;
use std::ops::Range;

/// Where a packet that is served goes.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    Lane(Lane),
    /// Into the buffer of this link.
    Output(u32),
}

/// How often what only some rules bring about has occurred.
#[derive(Debug, Clone, Default)]
pub struct Cases {
    /// By [`AgeTie`](isthmus_packet::AgeTie): choices among packets equally old.
    pub age_ties: [u64; 3],
    /// By [`LinkTie`](isthmus_packet::LinkTie): choices among links loaded alike.
    pub link_ties: [Cell<u64>; 3],
    /// Packets whose age counts since they came to the switch and that waited there behind others.
    pub behind: u64,
    /// Packets that waited in an output buffer.
    pub waited: u64,
    /// Packets that left their input buffer sooner than over a link.
    pub sooner: u64,
    /// Packets that crossed while their tails were still to come.
    pub ahead: u64,
    /// Reads whose data start before those of another one that was asked for sooner.
    pub overtaken: u64,
}

impl Reference<'_> {
    pub fn outputs_of(&self) -> Option<Outputs> {
        match self.rules.switching {
            Switching::CutThrough { outputs, .. } => outputs,
            Switching::Circuit { .. } => None,
        }
    }

    /// Bytes of room in an output buffer.
    fn output_room(&self, output: &Output) -> u64 {
        let all = self.outputs_of().map_or(0, |outputs| outputs.buffer);
        let taken = output.taken.iter();
        let taken = taken.filter(|(left, ..)| left.is_none_or(|time| time > self.now));
        u64::from(all) - taken.map(|(_, bytes, _)| bytes).sum::<u64>()
    }

    /// The link of these into whose buffer a packet goes now, if any.
    pub fn output(&self, wanted: Range<u32>, number: usize) -> Option<u32> {
        let flight = &self.flights[number];
        let merit = |link: u32| {
            let output = &self.outputs[link as usize];
            let room = self.output_room(output);
            let channels = self.channels[link as usize].iter();
            let credits: u64 = channels.map(|channel| self.room(channel)).sum();
            let merit = match self.rules.adaptive.load {
                LinkLoad::Room => (room, credits),
                LinkLoad::Idle => {
                    let wait = self.transmitters[link as usize].saturating_sub(self.now);
                    (u64::MAX - wait, 0)
                }
            };
            (room >= flight.wire && output.way <= self.now).then_some(merit)
        };
        let best = wanted.clone().filter_map(merit).max()?;
        let equals: Vec<u32> = wanted.filter(|&link| merit(link) == Some(best)).collect();
        Some(self.decide(equals, flight))
    }

    /// A packet crosses into the buffer of a link.
    pub fn cross(&mut self, number: usize, link: u32) {
        let speedup = u64::from(self.outputs_of().expect("there are some").speedup);
        let ticks = self.ticks(&self.flights[number]);
        let mut crossing: Cycles = 0;
        while crossing * speedup < ticks {
            crossing += 1;
        }
        let flight = &mut self.flights[number];
        flight.wanted = None;
        flight.crossed = Some((link, self.now));
        let (tail_in, wire) = (flight.asks + ticks, flight.wire);
        let left = (self.now + crossing).max(tail_in);
        self.cases.sooner += u64::from(left < self.now + ticks);
        self.cases.ahead += u64::from(left > self.now + crossing);
        self.leave(number, left);
        let output = &mut self.outputs[link as usize];
        assert!(output.way <= self.now);
        output.way = self.now + crossing;
        output.taken.push((None, wire, number));
        output.queue.push(number);
    }

    /// Starts packets on the links behind output buffers.
    pub fn sends(&mut self) {
        for link in 0..self.outputs.len() {
            while let Some(&number) = self.outputs[link].queue.first() {
                let link = link as u32;
                let Some(lane) = self.lane((link..link + 1, 0), &self.flights[number]) else {
                    break;
                };
                let flight = &mut self.flights[number];
                let crossed = flight.crossed.take().expect("it is in an output buffer");
                self.cases.waited += u64::from(crossed.1 < self.now);
                self.go(number, lane);
                let left = self.transmitters[link as usize];
                let output = &mut self.outputs[link as usize];
                output.queue.remove(0);
                let taken = output.taken.iter_mut().find(|(.., who)| *who == number);
                taken.unwrap().0 = Some(left);
            }
        }
    }
}
