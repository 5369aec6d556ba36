//! Everything that runs on SCI fabrics tell: shapes, loads from a packet now and then to a flood,
//! hops from one symbol to more than a packet, and all transactions.

use super::Hash;
use crate::sci::torus;
use isthmus_machine::sci::spec::{SciSpec, Source};
use isthmus_machine::sci::{Arrival, Machine, Observer, Simulation};
use isthmus_topology::rings::{Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{HotNode, PacketTraffic, Spacing, Transaction};
use std::sync::Arc;

struct Watch {
    hash: Hash,
    left: u64,
}

impl Observer for Watch {
    fn offered(&mut self, node: u32) {
        self.hash.add(&[1, u64::from(node)]);
    }

    fn arrived(&mut self, arrival: &Arrival) {
        self.hash.add(&[
            2,
            u64::from(arrival.source),
            arrival.latency,
            arrival.network,
            u64::from(arrival.links),
            u64::from(arrival.ring_changes),
            u64::from(arrival.retries),
        ]);
        self.left = self.left.saturating_sub(1);
    }

    fn completed(&mut self, node: u32, response: Option<u64>) {
        let response = response.unwrap_or(u64::MAX);
        self.hash.add(&[3, u64::from(node), response]);
    }

    fn dropped(&mut self, node: u32) {
        self.hash.add(&[4, u64::from(node)]);
    }

    fn finished(&self) -> bool {
        self.left == 0
    }
}

fn fingerprint(spec: &SciSpec, traffic: &PacketTraffic, seed: u64, packets: u64) -> u64 {
    let machine = Arc::new(Machine::new(spec).expect("a fabric that can be"));
    let until = machine.cycles(Time::from_us(400));
    let mut simulation = Simulation::new(machine, traffic, seed, 0);
    let mut watch = Watch {
        hash: Hash::new(),
        left: packets,
    };
    simulation.run_until(&mut watch, until);
    let mut hash = watch.hash;
    for link in simulation.links() {
        hash.add(&[link.send, link.echo]);
    }
    for node in simulation.nodes() {
        hash.add(&[node.offered, node.completed]);
    }
    hash.add(&[simulation.now(), simulation.under_way()]);
    hash.value
}

/// Fingerprints of runs that use each part of the engine, by name.
pub fn all(rows: &mut Vec<(String, u64)>) {
    let traffic = |mb_per_s| PacketTraffic {
        load: Bandwidth::from_mb_per_s(mb_per_s),
        spacing: Spacing::Exponential,
        phases: 1.0,
        transaction: Transaction::Move,
        payload: Bytes::new(64),
        senders: Vec::new(),
        hot_node: None,
        turnaround: Time::ZERO,
        outstanding: Outstanding::Unlimited,
    };
    let mut add = |name: &str, spec: &SciSpec, traffic: &PacketTraffic, seeds: u64| {
        for seed in 1..=seeds {
            let value = fingerprint(spec, traffic, seed, 40_000);
            rows.push((format!("SCI, {name}, seed {seed}"), value));
        }
    };
    let shapes = [
        ("ring of 8", Shape::Ring { nodes: 8 }, 1_000),
        ("pair of 12", Shape::CounterRotating { nodes: 12 }, 3_000),
        ("torus", Shape::Torus { sizes: vec![5, 4] }, 8_000),
        (
            "bidirectional torus",
            Shape::BidirectionalTorus { sizes: vec![6, 6] },
            26_000,
        ),
        ("squares", Shape::UniformRingTorus { sizes: [4, 5] }, 8_000),
        ("streets", Shape::Manhattan { sizes: [4, 6] }, 8_000),
    ];
    for (name, shape, saturation) in shapes {
        let routing = match shape {
            Shape::Manhattan { .. } => Routing::FewestChanges,
            _ => Routing::DimensionOrder,
        };
        for percent in [1, 20, 80, 150] {
            let spec = SciSpec {
                shape: shape.clone(),
                routing,
                ..torus(6)
            };
            let load = traffic(saturation * percent / 100);
            add(&format!("{name}, {percent}%"), &spec, &load, 4);
        }
    }
    for load in [50, 1_000, 40_000, 500_000] {
        let name = format!("32 x 32 torus, {load} MB/s");
        add(&name, &torus(32), &traffic(load), 2);
    }
    for hop_ns in [2, 14, 30, 34, 62, 300] {
        let spec = SciSpec {
            hop: Time::from_ns(hop_ns),
            ring_change: Time::from_ns(2 * (hop_ns % 40)),
            ..torus(5)
        };
        for load in [500, 15_000, 60_000] {
            add(
                &format!("hop {hop_ns} ns, {load} MB/s"),
                &spec,
                &traffic(load),
                2,
            );
        }
    }
    let bounded = SciSpec {
        source: Source::Bounded,
        ..torus(4)
    };
    let reads = PacketTraffic {
        spacing: Spacing::Deterministic,
        phases: 0.5,
        transaction: Transaction::Read,
        payload: Bytes::new(256),
        hot_node: Some(HotNode {
            node: 3,
            probability: 0.3,
        }),
        turnaround: Time::from_ns(700),
        ..traffic(6_000)
    };
    add("bounded sources, reads, hot node", &bounded, &reads, 4);
    let in_step = PacketTraffic {
        spacing: Spacing::Deterministic,
        phases: 0.0,
        transaction: Transaction::Write,
        ..traffic(9_000)
    };
    add("writes in step", &torus(4), &in_step, 4);
}
