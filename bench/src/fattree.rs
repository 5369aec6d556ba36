//! Runs of a 64-node fat tree: the QsNET paper's I/O traffic, and uniform traffic beside the peer.

use crate::clock::{Spread, timed};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::jobs::{Completed, Observer, Packet, Replication as _};
use isthmus_machine::packets::Simulation;
use isthmus_machine::packets::spec::{Age, NetworkSpec, Nic, Switching};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    Arrivals, Destinations, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers, Sizes,
    Spread as Law, Targets, Traffic,
};
use isthmus_workload::storage::StorageSpec;
use serde::Serialize;
use std::sync::Arc;

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Levels of switches of the 4-ary tree.
        levels: u32 = 3,
        /// Simulated time of one run, in microseconds.
        time_us: u64 = 100_000,
        /// Runs, each with streams of its own.
        runs: u64 = 3,
        /// Offered load of uniform traffic as a share of a link; 0: closed loops of I/O to an eighth
        /// of the nodes, clustered, chosen at random (Table 1 of the QsNET paper).
        uniform: f64 = 0.0,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    nodes: u32,
    /// Packets of data that arrived in all runs.
    packets: u64,
    packets_per_s: f64,
    /// CPU seconds of one run, set-up of the tree not included.
    run_s: Spread,
    /// Data that arrived, in MB/s and node.
    accepted_mb_per_s: f64,
    /// The same as a share of what a link carries.
    accepted: f64,
}

/// Cut-through without any host: packets of 160 flits of two bytes, a flit a cycle, as the peer.
pub fn cut_through(levels: u32) -> FatTreeSpec {
    let qsnet = FatTreeSpec::qsnet(levels);
    FatTreeSpec {
        network: NetworkSpec {
            virtual_channels: 1,
            switching: Switching::CutThrough {
                buffer: 4,
                credit: Time::from_ns(5),
                output_buffer: 0,
                speedup: 1,
            },
            switch_latency: Time::from_ns(5),
            age: Age::PerSwitch,
            nic: Nic {
                overhead: Bytes::new(2),
                dma_period: Time::from_ns(800),
                receive_delay: Time::ZERO,
                software_latency: Time::ZERO,
                ..qsnet.network.nic
            },
            ..qsnet.network
        },
        ..qsnet
    }
}

/// One job on all nodes that are not servers.
pub fn one_job(
    name: &str,
    servers: Servers,
    traffic: Traffic,
    outstanding: Outstanding,
) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        mapping: match servers {
            Servers::None => Mapping::Shared,
            _ => Mapping::Dedicated,
        },
        servers,
        storage: StorageSpec::None,
        jobs: vec![Job {
            name: name.to_owned(),
            nodes: JobNodes::All,
            traffic,
            active: true,
            outstanding,
        }],
    }
}

fn jobs(load: &Load) -> JobsTraffic {
    let sizes = |bytes, spread| Sizes {
        mean: Bytes::new(bytes),
        spread,
    };
    if load.uniform > 0.0 {
        let mb_per_s = (400.0 * load.uniform).round() as u64;
        let arrivals = Arrivals::Open {
            load: Bandwidth::from_mb_per_s(mb_per_s),
            gaps: Law::Exponential,
        };
        let sizes = sizes(320, Law::Fixed);
        let traffic = Traffic::Uniform { sizes, arrivals };
        return one_job("uniform", Servers::None, traffic, Outstanding::ONE);
    }
    let count = 4u32.pow(load.levels) / 8;
    let io = Io {
        targets: Targets::Servers(Destinations::Random),
        read_ratio: 0.0,
        sizes: sizes(1_000_000, Law::Exponential),
        arrivals: Arrivals::equal_pauses(Time::ZERO),
    };
    let servers = Servers::Clustered { count };
    one_job("io", servers, Traffic::Io(io), Outstanding::ONE)
}

#[derive(Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Observer for Count {
    fn offered(&mut self, _job: u32) {}

    fn packet(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += packet.bytes;
    }

    fn completed(&mut self, _completed: &Completed) {}

    fn finished(&self) -> bool {
        false
    }
}

/// Runs them one after another.
pub fn run(load: Load) -> Report {
    let spec = if load.uniform > 0.0 {
        cut_through(load.levels)
    } else {
        FatTreeSpec::qsnet(load.levels)
    };
    let machine = Arc::new(Machine::new(&spec).expect("these trees can be built"));
    let nodes = machine.tree().node_count();
    let traffic = jobs(&load);
    let layout = Layout::new(&traffic, nodes).expect("the jobs fit on the tree");
    let until = machine.network().ticks(Time::from_us(load.time_us));
    let mut count = Count::default();
    let mut times = Vec::new();
    for replication in 0..load.runs {
        let ((), run_s) = timed(|| {
            let simulation = Simulation::new(
                machine.network(),
                machine.routes(),
                &traffic,
                &layout,
                1,
                replication,
            );
            let mut simulation = simulation.expect("one job to a node");
            simulation.run_until(&mut count, until);
        });
        times.push(run_s);
    }
    let simulated_us = load.runs as f64 * load.time_us as f64;
    Report {
        nodes,
        packets: count.packets,
        packets_per_s: count.packets as f64 / times.iter().sum::<f64>(),
        run_s: Spread::of(times),
        accepted_mb_per_s: count.bytes as f64 / simulated_us / f64::from(nodes),
        accepted: count.bytes as f64 / simulated_us / f64::from(nodes) / 400.0,
    }
}
