//! Whole replications of the paper's machine, set-up included.

use crate::clock::{Spread, timed};
use crate::meter::Meter;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{Machine, Simulation};
use isthmus_units::Time;
use isthmus_workload::spec::{Arrival, TrafficSpec};
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
        /// Messages of each replication.
        messages: u64 = 150_000,
        /// Number of replications, each with streams of its own.
        replications: u64 = 50,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Messages of all replications.
    messages: u64,
    /// CPU seconds of all replications.
    cpu_s: f64,
    /// Messages for each CPU second, of all replications together.
    rate_per_s: f64,
    /// Of single replications.
    single_per_s: Spread,
    /// Of the first, which finds caches and branch predictors cold and pages untouched.
    first_per_s: f64,
    /// CPU seconds of the set-up of each: machine, channels, streams.
    setup_s: Spread,
    /// Simulated cycles of all replications.
    cycles: u64,
}

/// The paper's traffic at this mean gap.
pub fn traffic(gap_us: f64) -> TrafficSpec {
    TrafficSpec {
        arrival: Arrival::Exponential {
            mean: Time::from_ns((gap_us * 1e3).round() as u64),
        },
        ..TrafficSpec::default()
    }
}

/// Runs the replications one after another.
pub fn run(load: Load) -> Report {
    let spec = HypercubeSpec::paper(load.dimension, load.width);
    let traffic = traffic(load.gap_us);
    let (mut rates, mut setups) = (Vec::new(), Vec::new());
    let (mut total_s, mut messages, mut cycles) = (0.0, 0, 0);
    for replication in 0..load.replications {
        let (mut simulation, setup_s) = timed(|| {
            let machine = Machine::new(&spec).expect("the paper's machines can be built");
            Simulation::new(Arc::new(machine), &traffic, 1, replication)
        });
        let mut meter = Meter::new(load.messages);
        let ((), run_s) = timed(|| {
            simulation.run(&mut meter);
            cycles += simulation.now();
            drop(simulation);
        });
        messages += meter.messages;
        total_s += setup_s + run_s;
        rates.push(meter.messages as f64 / (setup_s + run_s));
        setups.push(setup_s);
    }
    Report {
        messages,
        cpu_s: total_s,
        rate_per_s: messages as f64 / total_s,
        first_per_s: rates[0],
        single_per_s: Spread::of(rates),
        setup_s: Spread::of(setups),
        cycles,
    }
}
