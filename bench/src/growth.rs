//! What a message costs on cubes of different sizes.

use crate::clock::timed;
use crate::replications::traffic;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{Completed, Flow, Leg, Machine, Observer, Simulation};
use serde::Serialize;
use std::sync::Arc;

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Dimension of the PE hypercube.
        dimension: u32 = 7,
        /// b: lanes of the I/O links.
        width: u32 = 2,
        /// Mean time between two demands of one PE, in microseconds.
        gap_us: f64 = 156.0,
        /// Messages measured.
        messages: u64 = 2_000_000,
        /// Cycles before that, until data come back from the I/O nodes.
        warm_up: u64 = 20_000,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    dimension: u32,
    pes: u32,
    io_nodes: u32,
    messages: u64,
    ns_per_message: f64,
    channels_per_message: f64,
    ns_per_channel: f64,
    setup_s: f64,
    /// Messages under way at the end.
    under_way: u64,
}

struct Count {
    until: u64,
    limit: u64,
    messages: u64,
    channels: u64,
    last: u64,
}

impl Observer for Count {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.messages += 1;
        self.channels += u64::from(leg.hops);
        self.last = leg.header;
    }

    fn completed(&mut self, _completed: &Completed) {}

    fn finished(&self) -> bool {
        self.last >= self.until && self.messages >= self.limit
    }
}

/// Runs the warm-up, then measures.
pub fn run(load: Load) -> Report {
    let spec = HypercubeSpec::paper(load.dimension, load.width);
    let traffic = traffic(load.gap_us);
    let (mut simulation, setup_s) = timed(|| {
        let machine = Machine::new(&spec).expect("the paper's machines can be built");
        Simulation::new(Arc::new(machine), &traffic, 1, 0)
    });
    let mut count = |until, limit| {
        let mut count = Count {
            until,
            limit,
            messages: 0,
            channels: 0,
            last: 0,
        };
        let ((), run_s) = timed(|| {
            simulation.run(&mut count);
        });
        (count, run_s)
    };
    count(load.warm_up, 0);
    let (count, run_s) = count(0, load.messages);
    let machine = simulation.machine();
    Report {
        dimension: load.dimension,
        pes: machine.cube().node_count(),
        io_nodes: machine.placement().io_node_count(),
        messages: count.messages,
        ns_per_message: run_s * 1e9 / count.messages as f64,
        channels_per_message: count.channels as f64 / count.messages as f64,
        ns_per_channel: run_s * 1e9 / count.channels as f64,
        setup_s,
        under_way: simulation.under_way(),
    }
}
