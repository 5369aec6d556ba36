//! Uniform traffic on a plain hypercube: what flit-level network simulators are made for.

use crate::clock::timed;
use crate::meter::Window;
use crate::windows::{Report, Windows};
use isthmus_machine::hypercube::spec::{HypercubeSpec, Lanes};
use isthmus_machine::hypercube::{Machine, Simulation};
use isthmus_units::{Bytes, Time};
use isthmus_workload::spec::{Arrival, TrafficSpec};
use std::sync::Arc;

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Dimension of the hypercube.
        dimension: u32 = 7,
        /// Length of every message in flits.
        length: u32 = 32,
        /// Offered load: flits per cycle and node, of the 1 that an injection lane can carry.
        offered: f64 = 0.3,
        /// Cycles before the measured window.
        warm_up: u64 = 10_000,
        /// Cycles of the measured window.
        measured: u64 = 20_000,
        /// Messages that a node has under way or waiting at most, in a closed loop whose think time
        /// gives the offered load; 0: no limit, Poisson arrivals.
        sources: u32 = 0,
        /// Number of runs, each with streams of its own.
        runs: u64 = 20,
    }
}

/// Runs the warm-up, then the window, as often as asked for.
pub fn run(load: Load) -> Report {
    let mut spec = HypercubeSpec::paper(load.dimension, 0);
    spec.lanes = Lanes {
        pe: 1,
        ..spec.lanes
    };
    spec.device.startup = Time::from_ns(0);
    let machine = Arc::new(Machine::new(&spec).expect("a plain hypercube can be built"));
    let gap_us = f64::from(load.length) / load.offered * machine.clock().cycle_us();
    let spans = |count: u32| Time::from_ns((gap_us * f64::from(count) * 1e3).round() as u64);
    let traffic = TrafficSpec {
        arrival: match load.sources {
            0 => Arrival::Exponential { mean: spans(1) },
            sources => Arrival::Closed {
                think: spans(sources),
                outstanding: sources,
            },
        },
        io_probability: 0.0,
        message: Bytes::new(u64::from(load.length) * spec.flit.get()),
        ..TrafficSpec::default()
    };
    let nodes = f64::from(machine.cube().node_count());
    let mut windows = Windows::default();
    for run in 0..load.runs {
        let mut simulation = Simulation::new(Arc::clone(&machine), &traffic, 1, run);
        let mut window = Window::new(load.warm_up);
        simulation.run(&mut window);
        let mut window = Window::new(load.warm_up + load.measured);
        let ((), window_s) = timed(|| {
            simulation.run(&mut window);
        });
        windows.add(window.messages, window.latency as f64, window_s);
    }
    let cycles = (load.measured * load.runs) as f64;
    windows.report(load.length.into(), cycles * nodes)
}
