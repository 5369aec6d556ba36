//! A scenario from its text to its result: whatever lies between a user and an engine included.

use crate::clock::timed;
use isthmus_experiment::{Experiment, Options};
use isthmus_kinds::KINDS;
use serde::Serialize;

/// Uniform traffic on a dragonfly, whose messages are single packets.
const SCENARIO: &str = include_str!("corridor.toml");

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Offered load as a share of a link.
        offered: f64 = 0.6,
        /// 1 if packets may go by a third group (UGAL).
        adaptive: u8 = 0,
        /// Simulated time of a replication, in microseconds.
        time_us: u64 = 200,
        /// Replications, one after another.
        replications: u64 = 2,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Packets that arrived in all replications.
    packets: u64,
    /// CPU seconds from the scenario's text to its result.
    cpu_s: f64,
    packets_per_s: f64,
    /// CPU seconds of that to read the scenario and to build the machine.
    setup_s: f64,
    /// Data that arrived, in MB/s and node; a link carries 1,000.
    accepted_mb_per_s: f64,
}

/// Runs it on one thread.
pub fn run(load: Load) -> Report {
    let routing = if load.adaptive != 0 {
        "ugal"
    } else {
        "minimal"
    };
    let overrides = [
        format!("workload.jobs.uniform.load={}", load.offered),
        format!("machine.group_routing=\"{routing}\""),
        format!("stop.time=\"{} us\"", load.time_us),
        format!("stop.replications={}", load.replications),
    ];
    let (experiment, setup_s) = timed(|| {
        let scenario = KINDS.parse(SCENARIO, "corridor.toml", &overrides);
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let options = Options {
            jobs: 1,
            ..Options::default()
        };
        let experiment = Experiment::new(&KINDS, scenario, options);
        experiment.unwrap_or_else(|error| panic!("{error}"))
    });
    let (result, run_s) = timed(|| {
        let result = experiment.run();
        result.unwrap_or_else(|error| panic!("{error}"))
    });
    let point = &result.points[0];
    let mut measures = point.measures.iter();
    let accepted = measures.find(|measure| measure.name == "uniform.accepted");
    let cpu_s = setup_s + run_s;
    Report {
        packets: point.messages,
        cpu_s,
        packets_per_s: point.messages as f64 / cpu_s,
        setup_s,
        accepted_mb_per_s: accepted.and_then(|measure| measure.mean).unwrap_or(0.0),
    }
}
