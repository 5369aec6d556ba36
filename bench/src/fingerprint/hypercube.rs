//! Every start, grant, arrival and completion of runs on hypercubes.

use super::Hash;
use isthmus_machine::hypercube::spec::{HypercubeSpec, Lanes, Service};
use isthmus_machine::hypercube::{Completed, Flow, Leg, Machine, Observer, Simulation, Started};
use isthmus_units::{Bytes, Time};
use isthmus_workload::spec::{Arrival, Collectives, HotSpot, TrafficSpec};
use std::sync::Arc;

/// Hashes until so many messages have arrived.
struct Watch {
    hash: Hash,
    left: u64,
}

impl Observer for Watch {
    fn offered(&mut self, flow: Flow, time: u64) {
        self.hash.add(&[flow as u64, time]);
    }

    fn arrived(&mut self, leg: &Leg) {
        self.hash
            .add(&[leg.number, leg.granted, leg.header, leg.tail]);
        self.left -= 1;
    }

    fn completed(&mut self, completed: &Completed) {
        self.hash
            .add(&[completed.network, completed.response, completed.time]);
    }

    fn finished(&self) -> bool {
        self.left == 0
    }

    fn started(&mut self, started: &Started<'_>) {
        self.hash
            .add(&[started.number, started.time, u64::from(started.length)]);
    }

    fn granted(&mut self, number: u64, hop: u32, time: u64) {
        self.hash.add(&[number, u64::from(hop), time]);
    }
}

fn fingerprint(spec: &HypercubeSpec, traffic: &TrafficSpec, seed: u64, messages: u64) -> u64 {
    let machine = Arc::new(Machine::new(spec).expect("a machine that can be"));
    let mut simulation = Simulation::new(machine, traffic, seed, 0);
    let mut watch = Watch {
        hash: Hash::new(),
        left: messages,
    };
    assert!(simulation.run(&mut watch), "the machine got stuck");
    watch.hash.value
}

/// Fingerprints of runs that use each part of the engine, by name.
pub fn all(rows: &mut Vec<(String, u64)>) {
    let mut add = |name: &str, spec: &HypercubeSpec, traffic: &TrafficSpec| {
        for seed in 1..=2 {
            let value = fingerprint(spec, traffic, seed, 60_000);
            rows.push((format!("{name}, seed {seed}"), value));
        }
    };
    let gap = |us| TrafficSpec {
        arrival: Arrival::Exponential {
            mean: Time::from_us(us),
        },
        ..TrafficSpec::default()
    };
    for b in 0..=3 {
        for us in [36, 78, 156] {
            add(
                &format!("7-cube, b = {b}, {us} us"),
                &HypercubeSpec::paper(7, b),
                &gap(us),
            );
        }
    }
    let mut narrow = HypercubeSpec::paper(6, 1);
    narrow.lanes = Lanes {
        pe: 1,
        link: 2,
        io_node: 1,
        io_source: 1,
        io_link: 1,
        io_to_pe: 1,
    };
    narrow.device.service = Service::Queue;
    narrow.device.cache_hit_rate = 0.5;
    add("narrow 6-cube with disks", &narrow, &gap(2_000));
    let short = TrafficSpec {
        message: Bytes::new(3),
        request: Bytes::new(2),
        block: Bytes::new(20),
        file_blocks_max: 4,
        file_blocks_split: 2,
        ..gap(2)
    };
    add(
        "9-cube of short messages",
        &HypercubeSpec::paper(9, 1),
        &short,
    );
    let mixed = TrafficSpec {
        arrival: Arrival::Closed {
            think: Time::from_us(20),
            outstanding: 2,
        },
        read_ratio: 0.5,
        hot_pe: Some(HotSpot {
            target: 3,
            probability: 0.02,
        }),
        collectives: Collectives {
            broadcast: 0.01,
            scatter: 0.1,
            gather: 0.1,
            group: 4,
        },
        ..TrafficSpec::default()
    };
    add(
        "closed loop with collectives",
        &HypercubeSpec::paper(5, 2),
        &mixed,
    );
}
