//! What a fat tree accepts of uniform traffic: with several messages under way, deeper buffers, more virtual
//! channels, output buffers and a faster crossbar.
//!
//! The 64-node tree of the benchmarks: 4-ary, 3 levels, packets of 160 flits of 2 B that are one message
//! each, cut-through, one virtual channel, no host. Offered is all that a link carries. A switch with one
//! queue for each input, all of them full, passes 2 - sqrt(2) = 0.586 of what its links carry where it is
//! large, 0.618 with 8 inputs, and all of it with queues at its outputs alone (Karol, Hluchyj and Morgan,
//! *Input versus output queueing on a space-division packet switch*, IEEE Trans. Commun. 35, 1987). In a
//! tree the queues of the nodes are the inputs of one large switch, whose inner buffers add to what it
//! passes.

use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::{Ascent, FatTreeSpec, Shape};
use isthmus_machine::jobs::{Completed, Observer, Packet, Replication as _};
use isthmus_machine::packets::Simulation;
use isthmus_machine::packets::spec::{Age, NetworkSpec, Nic, Readings, Switching};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    Arrivals, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers, Sizes, Spread, Traffic,
};
use isthmus_workload::storage::StorageSpec;
use std::sync::Arc;

const PAYLOAD: u64 = 320;

/// Payload that a link of 400 MB/s carries in packets with 2 B more, in MB/s.
const LINK: f64 = 400.0 * PAYLOAD as f64 / (PAYLOAD + 2) as f64;

fn tree(ascent: Ascent, channels: u32, switching: Switching) -> FatTreeSpec {
    let shape = Shape::KAry {
        arity: 4,
        levels: 3,
    };
    FatTreeSpec {
        shape,
        ascent,
        network: NetworkSpec {
            bandwidth: Bandwidth::from_mb_per_s(400),
            switch_latency: Time::from_ns(5),
            virtual_channels: channels,
            switching,
            age: Age::PerSwitch,
            readings: Readings::default(),
            nic: Nic {
                payload: Bytes::new(PAYLOAD),
                overhead: Bytes::new(2),
                padding: Bytes::new(64),
                request: Bytes::new(64),
                packets_in_flight: 2,
                dma_period: Time::from_ns(800),
                dma_block: Time::ZERO,
                receive_delay: Time::ZERO,
                software_latency: Time::ZERO,
                read_turnaround: Time::ZERO,
                dma_slice: 1,
            },
            late: None,
        },
    }
}

/// Without output buffers.
fn inputs(buffer: u32) -> Switching {
    outputs(buffer, 0, 1)
}

fn outputs(buffer: u32, output_buffer: u32, speedup: u32) -> Switching {
    Switching::CutThrough {
        buffer,
        credit: Time::from_ns(5),
        output_buffer,
        speedup,
    }
}

#[derive(Default)]
struct Bytes64(u64);

impl Observer for Bytes64 {
    fn offered(&mut self, _: u32) {}
    fn packet(&mut self, packet: &Packet) {
        self.0 += packet.bytes;
    }
    fn completed(&mut self, _: &Completed) {}
    fn finished(&self) -> bool {
        false
    }
}

/// Part of what links carry that arrives, from 100 us on for 1 ms.
fn accepted(spec: &FatTreeSpec, outstanding: Outstanding) -> f64 {
    let machine = Arc::new(Machine::new(spec).unwrap());
    let traffic = JobsTraffic {
        serve: Serve::All,
        servers: Servers::None,
        storage: StorageSpec::None,
        mapping: Mapping::Shared,
        jobs: vec![Job {
            name: "uniform".to_owned(),
            nodes: JobNodes::All,
            traffic: Traffic::Uniform {
                sizes: Sizes {
                    mean: Bytes::new(PAYLOAD),
                    spread: Spread::Fixed,
                },
                arrivals: Arrivals::Open {
                    load: Bandwidth::from_mb_per_s(400),
                    gaps: Spread::Exponential,
                },
            },
            active: true,
            outstanding,
        }],
    };
    let nodes = machine.tree().node_count();
    let layout = Layout::new(&traffic, nodes).unwrap();
    let mut simulation =
        Simulation::new(machine.network(), machine.routes(), &traffic, &layout, 3, 0).unwrap();
    let mut seen = Bytes64::default();
    let (warm, end) = (Time::from_us(100), Time::from_us(1_100));
    simulation.run_until(&mut seen, machine.network().ticks(warm));
    seen.0 = 0;
    simulation.run_until(&mut seen, machine.network().ticks(end));
    seen.0 as f64 / f64::from(nodes) / 1_000.0 / LINK
}

/// 64 nodes times 1250 packet times: the standard error of what is accepted is below 0.003.
fn near(what: &str, found: f64, expected: f64) {
    println!("{what}: {found:.3}, expected {expected}");
    assert!(
        (found - expected).abs() < 0.012,
        "{what}: {found:.3}, expected {expected}"
    );
}

#[test]
fn more_messages_under_way_are_accepted() {
    let spec = tree(Ascent::Adaptive, 1, inputs(4));
    for (most, expected) in [(1, 0.443), (2, 0.526), (4, 0.565), (8, 0.582)] {
        let found = accepted(&spec, Outstanding::AtMost(most));
        near(&format!("{most} under way"), found, expected);
    }
    let open = accepted(&spec, Outstanding::Unlimited);
    near("open sources, adaptive", open, 0.581);
    let random = tree(Ascent::Random, 1, inputs(4));
    near(
        "open sources, random ascent",
        accepted(&random, Outstanding::Unlimited),
        0.54,
    );
}

#[test]
fn deeper_buffers_pass_more() {
    for (buffer, expected) in [(2, 0.539), (4, 0.581), (16, 0.644), (512, 0.676)] {
        let spec = tree(Ascent::Adaptive, 1, inputs(buffer));
        near(
            &format!("buffers of {buffer} packets"),
            accepted(&spec, Outstanding::Unlimited),
            expected,
        );
    }
}

/// The best of the tree with four packets in each input buffer is 0.58.
#[test]
fn channels_and_output_buffers_lift_the_limit() {
    let unlimited = |spec: &FatTreeSpec| accepted(spec, Outstanding::Unlimited);
    for (channels, expected) in [(2, 0.77), (4, 0.88)] {
        let spec = tree(Ascent::Adaptive, channels, inputs(4 * channels));
        near(&format!("{channels} channels"), unlimited(&spec), expected);
    }
    // Packets in each input, in each output, speed-up.
    for (buffer, output, speedup, expected) in [
        (4, 4, 1, 0.61),
        (4, 1, 2, 0.66),
        (4, 4, 2, 0.79),
        (4, 4, 4, 0.80),
        (16, 4, 2, 0.83),
        (16, 16, 4, 0.92),
    ] {
        let spec = tree(Ascent::Adaptive, 1, outputs(buffer, output, speedup));
        let what = format!("inputs of {buffer}, outputs of {output}, speed-up {speedup}");
        near(&what, unlimited(&spec), expected);
    }
}

/// One switch alone against the closed forms. Nodes do not send to themselves, which matters the less the
/// more there are. In as many packet times as there are here, n, random arrivals at a load of 1 leave an
/// output idle for about sqrt(2 n / pi) of them.
#[test]
fn one_switch_passes_what_theory_says() {
    for (arity, expected) in [(8, 0.618), (32, 0.592)] {
        let one = |switching| FatTreeSpec {
            shape: Shape::KAry { arity, levels: 1 },
            ..tree(Ascent::Adaptive, 1, switching)
        };
        let queued = accepted(&one(inputs(4)), Outstanding::Unlimited);
        near(
            &format!("{arity} ports, queues at inputs"),
            queued,
            expected,
        );
        let ideal = accepted(&one(outputs(64, 1_000, 64)), Outstanding::Unlimited);
        let n: f64 = 1_000.0 / 0.805;
        let filling = (2.0 * n / std::f64::consts::PI).sqrt() / n;
        near(
            &format!("{arity} ports, queues at outputs"),
            ideal,
            1.0 - filling,
        );
    }
}
