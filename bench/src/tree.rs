//! Uniform traffic of single packets on a 64-node fat tree, in a window after a warm-up: what flit-level
//! network simulators do, too.

use crate::clock::timed;
use crate::fattree::{cut_through, one_job};
use crate::windows::{Report, Windows};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::{Ascent, FatTreeSpec};
use isthmus_machine::jobs::{Completed, Observer, Packet, Replication as _};
use isthmus_machine::packets::Simulation;
use isthmus_machine::packets::spec::{NetworkSpec, Nic, Switching};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{Arrivals, JobsTraffic, Servers, Sizes, Spread as Law, Traffic};
use std::sync::Arc;

/// A flit of two bytes on a link of 400 MB/s.
const CYCLE: Time = Time::from_ns(5);
/// Flits of a packet, its header of one flit included.
const FLITS: u64 = 160;
/// What it carries: all flits but the first.
const PAYLOAD: Bytes = Bytes::new(2 * (FLITS - 1));
/// Payload of a link in bits per second.
const LINK: u64 = 8 * 400_000_000 * (FLITS - 1) / FLITS;

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Offered load: flits per cycle and node.
        offered: f64 = 0.3,
        /// 1 if a packet takes any link up, not the least loaded.
        random: u8 = 0,
        /// Packets that an input of a switch can hold.
        buffer: u32 = 4,
        /// Cycles before the measured window.
        warm_up: u64 = 5_000,
        /// Cycles of the measured window.
        measured: u64 = 60_000,
        /// Number of runs, each with streams of its own.
        runs: u64 = 20,
    }
}

/// The tree of the peers: packets of 160 flits of two bytes, a flit a cycle, a cycle for a switch.
fn spec(load: &Load) -> FatTreeSpec {
    let plain = cut_through(3);
    FatTreeSpec {
        ascent: match load.random {
            0 => Ascent::Adaptive,
            _ => Ascent::Random,
        },
        network: NetworkSpec {
            switching: Switching::CutThrough {
                buffer: load.buffer,
                credit: CYCLE,
                output_buffer: 0,
                speedup: 1,
            },
            nic: Nic {
                payload: PAYLOAD,
                overhead: Bytes::new(2),
                padding: Bytes::new(1),
                ..plain.network.nic
            },
            ..plain.network
        },
        ..plain
    }
}

/// Open sources: a node may have any number of messages under way.
fn traffic(offered: f64) -> JobsTraffic {
    let uniform = Traffic::Uniform {
        sizes: Sizes {
            mean: PAYLOAD,
            spread: Law::Fixed,
        },
        arrivals: Arrivals::Open {
            load: Bandwidth::from_bits_per_s((LINK as f64 * offered).round() as u64),
            gaps: Law::Exponential,
        },
    };
    one_job("uniform", Servers::None, uniform, Outstanding::Unlimited)
}

#[derive(Default)]
struct Window {
    messages: u64,
    response: u64,
}

impl Observer for Window {
    fn offered(&mut self, _job: u32) {}

    fn packet(&mut self, _packet: &Packet) {}

    fn completed(&mut self, completed: &Completed) {
        self.messages += 1;
        self.response += completed.response;
    }

    fn finished(&self) -> bool {
        false
    }
}

/// Runs the warm-up, then the window, as often as asked for.
pub fn run(load: Load) -> Report {
    let machine = Arc::new(Machine::new(&spec(&load)).expect("the tree can be built"));
    let nodes = machine.tree().node_count();
    let traffic = traffic(load.offered);
    let layout = Layout::new(&traffic, nodes).expect("the job fits on the tree");
    let cycle = machine.network().ticks(CYCLE);
    let mut windows = Windows::default();
    for run in 0..load.runs {
        let simulation = Simulation::new(
            machine.network(),
            machine.routes(),
            &traffic,
            &layout,
            1,
            run,
        );
        let mut simulation = simulation.expect("one job to a node");
        simulation.run_until(&mut Window::default(), load.warm_up * cycle);
        let mut window = Window::default();
        let ((), window_s) = timed(|| {
            simulation.run_until(&mut window, (load.warm_up + load.measured) * cycle);
        });
        let latency = window.response as f64 / cycle as f64;
        windows.add(window.messages, latency, window_s);
    }
    let cycles = (load.measured * load.runs) as f64;
    windows.report(FLITS, cycles * f64::from(nodes))
}
