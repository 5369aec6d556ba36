//! What the parts of a message cost one by one.

use crate::clock::timed;
use crate::meter::Meter;
use crate::replications::traffic;
use isthmus_kernel::{EventQueue, Gap, Streams};
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{Machine, Simulation};
use isthmus_workload::{Demand, Traffic};
use serde::Serialize;
use std::hint::black_box;
use std::sync::Arc;

/// CPU nanoseconds for each message of the paper's 7-cube with b = 2 at 0.156 ms.
#[derive(Debug, Serialize)]
pub struct Report {
    /// All of it.
    whole: f64,
    /// Drawing what a PE asks for, and when it asks next.
    draw: f64,
    /// Finding the channels of its path.
    path: f64,
    /// Putting its timer into the event queue and getting it out, with one timer for each PE.
    timer: f64,
    /// The rest: moving heads, taking and releasing channels, I/O nodes, observer.
    rest: f64,
}

const ROUNDS: u32 = 3_000_000;

/// Nanoseconds of one call of `work`.
fn each(mut work: impl FnMut(u32)) -> f64 {
    let ((), seconds) = timed(|| (0..ROUNDS).for_each(&mut work));
    seconds * 1e9 / f64::from(ROUNDS)
}

/// Measures the parts, then the whole.
pub fn run() -> Report {
    let machine = Arc::new(Machine::new(&HypercubeSpec::paper(7, 2)).expect("the paper's machine"));
    let spec = traffic(156.0);
    let pes = machine.cube().node_count();
    let streams = Streams::new(1, 0);

    let mut demands = Traffic::new(&spec, machine.clock(), pes, streams);
    let mut receiver = 0;
    let draw = each(|round| {
        let pe = round % pes;
        if let Demand::Message { to } = demands.demand(pe) {
            receiver = to;
        }
        black_box((receiver, demands.next(pe)));
    });

    let mut ends = Traffic::new(&spec, machine.clock(), pes, streams);
    let pairs: Vec<(u32, u32)> = (0..4096)
        .map(|round| match ends.demand(round % pes) {
            Demand::Message { to } => (round % pes, to),
            _ => (0, pes - 1),
        })
        .collect();
    let mut path = Vec::new();
    let path_ns = each(|round| {
        let (from, to) = pairs[(round % 4096) as usize];
        path.clear();
        machine.path_pe_pe(from, to, &mut path);
        black_box(&path);
    });

    let (mut gap, mut stream) = (Gap::default(), streams.stream("parts", 0));
    let gaps: Vec<u64> = (0..4096)
        .map(|_| 1 + gap.exponential(3_120.0, &mut stream))
        .collect();
    let mut queue = EventQueue::new();
    for pe in 0..pes {
        queue.push(gaps[pe as usize], pe);
    }
    let timer = each(|round| {
        let pe = queue.pop_until(u64::MAX).expect("a timer for each PE");
        queue.push(queue.now() + gaps[(round % 4096) as usize], pe);
    });

    let mut meter = Meter::new(u64::from(ROUNDS));
    let mut simulation = Simulation::new(machine, &spec, 1, 0);
    let ((), seconds) = timed(|| {
        simulation.run(&mut meter);
    });
    let whole = seconds * 1e9 / f64::from(ROUNDS);
    Report {
        whole,
        draw,
        path: path_ns,
        timer,
        rest: whole - draw - path_ns - timer,
    }
}
