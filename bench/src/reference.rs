//! The engine beside its own flit-by-flit reference, on the same list of messages.

use crate::clock::timed;
use crate::replications::traffic;
use isthmus_flit::{Arrival, Message, Ready};
use isthmus_kernel::RunUntil;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{Completed, Flow, Leg, Machine, Observer, Simulation, Started};
use isthmus_wormhole::{Channels, Delivered, Engine, Handler};
use serde::Serialize;
use std::sync::Arc;

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Messages of the list.
    messages: usize,
    /// CPU seconds of the engine.
    engine_s: f64,
    /// CPU seconds of the reference.
    reference_s: f64,
}

/// Records the messages that a machine sends.
#[derive(Default)]
struct Record {
    limit: usize,
    messages: Vec<Message>,
    tails: Vec<u64>,
    arrived: usize,
}

impl Observer for Record {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.tails[leg.number as usize] = leg.tail;
        self.arrived += 1;
    }

    fn completed(&mut self, _completed: &Completed) {}

    fn finished(&self) -> bool {
        self.arrived >= self.limit
    }

    fn started(&mut self, started: &Started<'_>) {
        let ready = match started.cause {
            None => Ready::At(started.time),
            Some(of) => Ready::After {
                message: of as usize,
                delay: started.time - self.tails[of as usize],
            },
        };
        self.messages.push(Message {
            ready,
            length: started.length,
            path: started.path.to_vec(),
            rank: started.number,
        });
        self.tails.push(0);
    }
}

/// Sends the messages of a list through the engine. A timer's number is its message's index.
struct Replay<'a> {
    messages: &'a [Message],
    /// Messages that follow each message, with the delay.
    followers: Vec<Vec<(u32, u64)>>,
    arrivals: Vec<(u64, u64)>,
    left: usize,
}

impl<'a> Replay<'a> {
    fn new(messages: &'a [Message]) -> Self {
        let mut followers = vec![Vec::new(); messages.len()];
        for (index, message) in messages.iter().enumerate() {
            if let Ready::After { message: of, delay } = message.ready {
                followers[of].push((index as u32, delay));
            }
        }
        Self {
            messages,
            followers,
            arrivals: vec![(0, 0); messages.len()],
            left: messages.len(),
        }
    }

    fn run(&mut self, lanes: &[u32]) {
        let mut engine = Engine::new(Channels::new(lanes.iter().copied()));
        for (index, message) in self.messages.iter().enumerate() {
            if let Ready::At(cycle) = message.ready {
                engine.schedule(cycle, index as u32);
            }
        }
        engine.run_until(u64::MAX, self);
    }
}

impl Handler for Replay<'_> {
    type Tag = u32;

    fn timer(&mut self, engine: &mut Engine<u32>, timer: u32) {
        let message = &self.messages[timer as usize];
        engine.start(isthmus_wormhole::Message {
            length: message.length,
            path: &message.path,
            tag: timer,
        });
    }

    fn delivered(&mut self, engine: &mut Engine<u32>, delivered: &Delivered<u32>) {
        self.arrivals[delivered.tag as usize] = (delivered.header, delivered.tail);
        self.left -= 1;
        for &(index, delay) in &self.followers[delivered.tag as usize] {
            engine.schedule(delivered.tail + delay, index);
        }
    }

    fn finished(&self) -> bool {
        self.left == 0
    }
}

/// Records the messages of the paper's 7-cube with b = 2 until `messages` have arrived, then sends
/// them through both.
///
/// # Panics
/// If engine and reference differ in the arrival of a message.
pub fn run(messages: usize) -> Report {
    let machine = Machine::new(&HypercubeSpec::paper(7, 2)).expect("the paper's machine");
    let lanes: Vec<u32> = machine.layout().all_lanes().collect();
    let mut record = Record {
        limit: messages,
        ..Record::default()
    };
    Simulation::new(Arc::new(machine), &traffic(156.0), 1, 0).run(&mut record);
    let list = record.messages;
    let mut replay = Replay::new(&list);
    let ((), engine_s) = timed(|| replay.run(&lanes));
    let (reference, reference_s) = timed(|| isthmus_flit::run(&lanes, 1, &list));
    let reference: Vec<(u64, u64)> = reference
        .expect("routes are free of deadlock")
        .iter()
        .map(|Arrival { header, tail, .. }| (*header, *tail))
        .collect();
    assert_eq!(replay.arrivals, reference, "engine and reference differ");
    Report {
        messages: list.len(),
        engine_s,
        reference_s,
    }
}
