//! Uniform traffic of single packets on a 64-node fat tree, in a window after a warm-up: what flit-level
//! network simulators do, too.

use crate::clock::timed;
use crate::fattree::cut_through;
use crate::windows::{Report, Windows};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::{Ascent, FatTreeSpec};
use isthmus_machine::jobs::{Completed, Observer, Packet, Replication as _};
use isthmus_machine::packets::Simulation;
use isthmus_machine::packets::spec::{NetworkSpec, Nic, Switching};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    Arrivals, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers, Sizes, Spread as Law, Traffic,
};
use isthmus_workload::storage::StorageSpec;
use std::sync::Arc;

/// A flit of two bytes on a link of 400 MB/s.
const CYCLE: Time = Time::from_ns(5);
/// Flits of a packet, its header of one flit included.
const FLITS: u64 = 160;
/// What it carries: all flits but the first.
const PAYLOAD: Bytes = Bytes::new(2 * (FLITS - 1));
/// Payload of a link in bits per second.
const LINK: u64 = 8 * 400_000_000 * (FLITS - 1) / FLITS;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Offered load: flits per cycle and node.
    pub offered: f64,
    /// Whether a packet takes any link up, not the least loaded.
    pub random: bool,
    /// Packets that an input of a switch can hold.
    pub buffer: u32,
    /// Cycles before the measured window.
    pub warm_up: u64,
    /// Cycles of the measured window.
    pub measured: u64,
    /// Number of runs, each with streams of its own.
    pub runs: u64,
}

/// The tree of the peers: packets of 160 flits of two bytes, a flit a cycle, a cycle for a switch.
fn spec(load: &Load) -> FatTreeSpec {
    let plain = cut_through(3);
    FatTreeSpec {
        ascent: if load.random {
            Ascent::Random
        } else {
            Ascent::Adaptive
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
    JobsTraffic {
        serve: Serve::All,
        servers: Servers::None,
        storage: StorageSpec::None,
        mapping: Mapping::Shared,
        jobs: vec![Job {
            name: "uniform".to_owned(),
            nodes: JobNodes::All,
            traffic: uniform,
            active: true,
            outstanding: Outstanding::Unlimited,
        }],
    }
}

#[derive(Default)]
struct Window {
    messages: u64,
    response: u64,
}

impl Observer for Window {
    #[inline]
    fn offered(&mut self, _job: u32) {}

    #[inline]
    fn packet(&mut self, _packet: &Packet) {}

    #[inline]
    fn completed(&mut self, completed: &Completed) {
        self.messages += 1;
        self.response += completed.response;
    }

    #[inline]
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
        let simulation =
            Simulation::new(machine.network(), machine.ways(), &traffic, &layout, 1, run);
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
