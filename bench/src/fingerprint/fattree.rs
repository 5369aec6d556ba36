//! Everything that runs on fat trees tell: both ways of holding links, all routes up, several
//! channels, reads and writes, from light loads to floods.

use super::Hash;
use crate::fattree::{cut_through, one_job};
use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::{Ascent, FatTreeSpec, Shape};
use isthmus_machine::jobs::{Completed, Observer, Packet, Replication as _};
use isthmus_machine::packets::Simulation;
use isthmus_machine::packets::spec::{Age, LatePackets, NetworkSpec, Switching};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    Arrivals, Destinations, Io, JobsTraffic, Servers, Sizes, Spread, Targets, Traffic,
};
use std::sync::Arc;

struct Watch {
    hash: Hash,
    left: u64,
}

impl Observer for Watch {
    fn offered(&mut self, job: u32) {
        self.hash.add(&[1, u64::from(job)]);
    }

    fn packet(&mut self, packet: &Packet) {
        self.hash.add(&[
            2,
            u64::from(packet.from),
            u64::from(packet.to),
            packet.bytes,
            packet.latency,
        ]);
        self.left = self.left.saturating_sub(1);
    }

    fn completed(&mut self, completed: &Completed) {
        let job = u64::from(completed.job);
        self.hash
            .add(&[3, job, completed.response, completed.network]);
    }

    fn finished(&self) -> bool {
        self.left == 0
    }
}

fn fingerprint(spec: &FatTreeSpec, traffic: &JobsTraffic, seed: u64) -> u64 {
    let machine = Arc::new(Machine::new(spec).expect("a tree that can be"));
    let nodes = machine.tree().node_count();
    let layout = Layout::new(traffic, nodes).expect("the jobs fit on the tree");
    let until = machine.network().ticks(Time::from_us(4_000));
    let simulation = Simulation::new(
        machine.network(),
        machine.routes(),
        traffic,
        &layout,
        seed,
        0,
    );
    let mut simulation = simulation.expect("one job to a node");
    let mut watch = Watch {
        hash: Hash::new(),
        left: 60_000,
    };
    simulation.run_until(&mut watch, until);
    let mut hash = watch.hash;
    let counted = simulation.counted();
    hash.add(&counted.busy[..]);
    hash.add(&counted.bytes[..]);
    hash.add(&[simulation.now(), simulation.under_way()]);
    hash.value
}

fn sizes(mean: u64) -> Sizes {
    Sizes {
        mean: Bytes::new(mean),
        spread: Spread::Exponential,
    }
}

fn uniform(mb_per_s: u64, mean: u64) -> JobsTraffic {
    let arrivals = Arrivals::Open {
        load: Bandwidth::from_mb_per_s(mb_per_s),
        gaps: Spread::Exponential,
    };
    let sizes = sizes(mean);
    let traffic = Traffic::Uniform { sizes, arrivals };
    one_job("job", Servers::None, traffic, Outstanding::ONE)
}

fn io(count: u32, read_ratio: f64, mean: u64) -> JobsTraffic {
    let io = Io {
        targets: Targets::Servers(Destinations::Random),
        read_ratio,
        sizes: sizes(mean),
        arrivals: Arrivals::equal_pauses(Time::ZERO),
    };
    let servers = Servers::Clustered { count };
    one_job("job", servers, Traffic::Io(io), Outstanding::ONE)
}

/// Fingerprints of runs that use each part of the engine, by name.
pub fn all(rows: &mut Vec<(String, u64)>) {
    let mut add = |name: &str, spec: &FatTreeSpec, traffic: &JobsTraffic| {
        for seed in 1..=2 {
            let value = fingerprint(spec, traffic, seed);
            rows.push((format!("fat tree, {name}, seed {seed}"), value));
        }
    };
    let shapes = [
        (
            "64 nodes",
            Shape::KAry {
                arity: 4,
                levels: 3,
            },
        ),
        (
            "243 nodes",
            Shape::KAry {
                arity: 3,
                levels: 5,
            },
        ),
        (
            "parallel links",
            Shape::Generalised {
                down: vec![4, 3, 3],
                up: vec![1, 2, 2],
                parallel: vec![1, 2, 3],
            },
        ),
    ];
    let ascents = [
        Ascent::Adaptive,
        Ascent::Source,
        Ascent::Destination,
        Ascent::Random,
    ];
    for (shape_name, shape) in shapes {
        for ascent in ascents {
            for channels in [1, 2, 3, 5] {
                let name = format!("{shape_name}, {ascent:?}, {channels} channels");
                let circuits = FatTreeSpec {
                    shape: shape.clone(),
                    ascent,
                    network: NetworkSpec {
                        virtual_channels: channels,
                        ..FatTreeSpec::qsnet(3).network
                    },
                };
                add(
                    &format!("{name}, circuits, I/O"),
                    &circuits,
                    &io(4, 0.4, 20_000),
                );
                add(
                    &format!("{name}, circuits, 60%"),
                    &circuits,
                    &uniform(150, 2_000),
                );
                let cut = FatTreeSpec {
                    shape: shape.clone(),
                    ascent,
                    network: NetworkSpec {
                        virtual_channels: channels,
                        // The channels of a link share it.
                        switching: Switching::CutThrough {
                            buffer: 2 * channels,
                            credit: Time::from_ns(5),
                            output_buffer: 0,
                            speedup: 1,
                        },
                        ..cut_through(3).network
                    },
                };
                add(
                    &format!("{name}, cut-through, I/O"),
                    &cut,
                    &io(4, 0.4, 20_000),
                );
                add(
                    &format!("{name}, cut-through, 80%"),
                    &cut,
                    &uniform(320, 900),
                );
            }
        }
    }
    let late = FatTreeSpec {
        network: NetworkSpec {
            late: Some(LatePackets {
                after: Time::from_us(9),
                cost: Time::from_ns(300),
            }),
            age: Age::Unlimited,
            switching: Switching::Circuit {
                acknowledgement: Time::ZERO,
                acknowledgement_hop: Time::ZERO,
            },
            ..FatTreeSpec::qsnet(3).network
        },
        ..FatTreeSpec::qsnet(3)
    };
    add("late packets", &late, &io(8, 0.0, 100_000));
    for load in [1, 40, 400] {
        add(
            &format!("4,096 nodes, {load} MB/s"),
            &FatTreeSpec::qsnet(6),
            &uniform(load, 4_000),
        );
    }
    add(
        "4,096 nodes, I/O",
        &FatTreeSpec::qsnet(6),
        &io(512, 0.1, 1_000_000),
    );
    add(
        "4,096 nodes, cut-through",
        &cut_through(6),
        &uniform(240, 320),
    );
}
