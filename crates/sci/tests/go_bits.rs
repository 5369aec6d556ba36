//! The go bits of IEEE 1596: a node that others starve gets its share, at a cost.

use crate::drive::{self, Demand};
use isthmus_kernel::{Streams, Uniform};
use isthmus_sci::{ChangeFrom, Fabric, FlowControl, Rules, Source, event, symbol};
use isthmus_topology::rings::Segment;

const NODES: u32 = 8;
const CYCLES: u64 = 60_000;

fn rules(flow_control: FlowControl) -> Rules {
    Rules {
        hop: 2,
        ring_change: 33,
        change_from: ChangeFrom::Header,
        symbols_max: 40,
        echo: 4,
        input_slots: 5,
        output_slots: 5,
        client_slots: 5,
        source: Source::Bounded,
        flow_control,
    }
}

fn ring() -> Fabric {
    Fabric::new(NODES, &[(0..NODES).collect()]).unwrap()
}

/// Every node generates a packet every 41 cycles, more than it can ever send, for a node that `to`
/// names.
fn greedy(mut to: impl FnMut(u32) -> u32) -> Vec<Demand> {
    let mut demands = Vec::new();
    for node in 0..NODES {
        for time in (0..CYCLES).step_by(41) {
            let segment = Segment {
                ring: 0,
                hops: (to(node) + NODES - node) % NODES,
            };
            demands.push(Demand {
                time,
                node,
                symbols: 40,
                route: vec![segment],
                answer: None,
            });
        }
    }
    demands
}

/// Own sends of each node, retries left out.
fn shares(demands: &[Demand], flow_control: FlowControl) -> Vec<u64> {
    type Engine = symbol::Engine<(u32, isthmus_sci::Class)>;
    let log = drive::run::<Engine>(&ring(), rules(flow_control), demands, 1, CYCLES, CYCLES);
    let pairs = log.counters.sends.iter().zip(&log.counters.retries);
    pairs.map(|(sends, retries)| sends - retries).collect()
}

/// The smallest share, as a fraction of the largest.
fn evenness(shares: &[u64]) -> f64 {
    *shares.iter().min().unwrap() as f64 / *shares.iter().max().unwrap() as f64
}

#[test]
fn who_sees_all_traffic_pass_is_not_starved() {
    // Node 0 sends to node 7 all around the ring, all others to node 0: each sees what those before
    // it send, and strips nothing.
    let demands = greedy(|node| if node == 0 { 7 } else { 0 });
    let without = shares(&demands, FlowControl::None);
    let with = shares(&demands, FlowControl::GoBits);
    println!("own sends by node, to one target: without go bits {without:?}, with {with:?}");
    assert!(evenness(&without) < 0.01);
    // Starvation is over. Shares are not equal: what comes in bursts meets the same go bits again
    // and again.
    assert!(evenness(&with) > 0.4);
    // Fairness costs throughput.
    let sum = |shares: &[u64]| shares.iter().sum::<u64>();
    assert!(sum(&with) < sum(&without));
}

#[test]
fn who_receives_nothing_gets_a_like_share() {
    // Uniform destinations, but nobody sends to node 0: only what it strips would make room for its
    // own packets.
    let mut stream = Streams::new(3, 0).stream("destinations", 0);
    let demands = greedy(|node| {
        let others: Vec<u32> = (1..NODES).filter(|&to| to != node).collect();
        others[Uniform::below(others.len() as u32).draw(&mut stream) as usize]
    });
    let without = shares(&demands, FlowControl::None);
    let with = shares(&demands, FlowControl::GoBits);
    println!("own sends by node, none to node 0: without go bits {without:?}, with {with:?}");
    assert!(evenness(&without) < 0.01);
    assert!(evenness(&with) > 0.6);
}

#[test]
fn a_lone_sender_is_not_held_back() {
    // One node sends without pause to its neighbour: its own idles come back as go idles.
    let mut demands = greedy(|node| (node + 1) % NODES);
    demands.retain(|demand| demand.node == 0);
    let with = shares(&demands, FlowControl::GoBits);
    assert_eq!(with, shares(&demands, FlowControl::None));
    assert_eq!(with[0], CYCLES.div_ceil(41));
}

#[test]
fn the_event_driven_engine_refuses_go_bits() {
    use isthmus_sci::RingEngine;
    let engine = event::Engine::<()>::new(&ring(), rules(FlowControl::GoBits));
    let error = engine.err().unwrap().to_string();
    assert!(error.contains("go bits"), "{error}");
}
