//! Limits to what one sender has under way, on hypercubes and SCI fabrics: replayed from the events that
//! observers receive, against the rule.

use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_machine::hypercube::{self, Class, Flow, Leg};
use isthmus_machine::sci::spec::{Queues, SciSpec};
use isthmus_machine::sci::{self, Arrival};
use isthmus_topology::rings::{Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{PacketTraffic, Spacing, Transaction};
use isthmus_workload::spec::{Arrival as Arrives, TrafficSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Messages of a hypercube: offered and, by number, when they asked for their first channel and when their
/// tails arrived.
#[derive(Default)]
struct Messages {
    offered: u64,
    started: BTreeMap<u64, (u32, u64)>,
    legs: Vec<(u32, u64, u64)>,
    limit: usize,
}

impl hypercube::Observer for Messages {
    fn offered(&mut self, _: Flow, _: u64) {
        self.offered += 1;
    }
    fn started(&mut self, started: &hypercube::Started<'_>) {
        // The first channel is that of the sending PE.
        self.started
            .insert(started.number, (started.path[0], started.time));
    }
    fn arrived(&mut self, leg: &Leg) {
        assert_eq!(leg.class, Class::PePe);
        let (from, time) = self.started[&leg.number];
        assert_eq!(time, leg.ready);
        self.legs.push((from, time, leg.tail));
    }
    fn completed(&mut self, _: &hypercube::Completed) {}
    fn finished(&self) -> bool {
        self.legs.len() >= self.limit
    }
}

fn messages(outstanding: Outstanding, gap_us: u64) -> Messages {
    let spec = HypercubeSpec::paper(3, 1);
    let machine = Arc::new(hypercube::Machine::new(&spec).unwrap());
    let traffic = TrafficSpec {
        arrival: Arrives::Exponential {
            mean: Time::from_us(gap_us),
        },
        outstanding,
        io_probability: 0.0,
        message: Bytes::new(200),
        ..TrafficSpec::default()
    };
    let mut seen = Messages {
        limit: 4_000,
        ..Messages::default()
    };
    hypercube::Simulation::new(machine, &traffic, 7, 0).run(&mut seen);
    seen
}

/// Most messages of one PE that were under way at once, and how often one began the cycle another ended.
fn under_way(seen: &Messages) -> (usize, usize) {
    let mut by_pe: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for &(pe, from, to) in &seen.legs {
        by_pe.entry(pe).or_default().push((from, to));
    }
    let (mut most, mut followed) = (0, 0);
    for own in by_pe.values() {
        for &(begin, _) in own {
            let open = own
                .iter()
                .filter(|(from, to)| *from <= begin && begin < *to);
            most = most.max(open.count());
            followed += usize::from(own.iter().any(|(_, to)| *to == begin));
        }
    }
    (most, followed)
}

#[test]
fn pes_keep_to_their_limit() {
    // 200 flits of 0.05 us are 10 us and more; every 4 us there is one more to send.
    for most in [1, 2, 3] {
        let seen = messages(Outstanding::AtMost(most), 4);
        let (found, followed) = under_way(&seen);
        assert_eq!(found as u32, most);
        // Nearly all wait, and go when one before them is there.
        assert!(followed > 3_000, "{followed} of 4000 with {most}");
        assert!(seen.offered > 4_000);
    }
    // Where nobody waits a limit that is not reached changes nothing.
    let legs = |outstanding| messages(outstanding, 400).legs;
    assert_eq!(legs(Outstanding::AtMost(64)), legs(Outstanding::Unlimited));
    let (free, _) = under_way(&messages(Outstanding::Unlimited, 4));
    assert!(free > 10, "{free}");
}

#[derive(Default)]
struct Transactions {
    offered: Vec<u64>,
    completed: Vec<u64>,
    responses: Vec<u64>,
}

impl sci::Observer for Transactions {
    fn offered(&mut self, node: u32) {
        self.offered[node as usize] += 1;
    }
    fn arrived(&mut self, _: &Arrival) {}
    fn completed(&mut self, node: u32, response: Option<u64>) {
        self.completed[node as usize] += 1;
        self.responses.extend(response);
    }
    fn dropped(&mut self, _: u32) {}
    fn finished(&self) -> bool {
        false
    }
}

/// Reads of one node alone, one after another without a pause: as many per time as fit into it.
#[test]
fn nodes_of_a_ring_keep_to_their_limit() {
    let spec = SciSpec {
        routing: Routing::FewestChanges,
        hop: Time::from_ns(8),
        ring_change: Time::from_ns(20),
        queues: Queues {
            input: 8,
            output: 8,
            client: 8,
        },
        patience: Time::from_us(100),
        ..SciSpec::of_paper(Shape::Ring { nodes: 4 })
    };
    let machine = Arc::new(sci::Machine::new(&spec).unwrap());
    let run = |outstanding, mb_per_s| {
        let traffic = PacketTraffic {
            load: Bandwidth::from_mb_per_s(mb_per_s),
            spacing: Spacing::Exponential,
            phases: 1.0,
            transaction: Transaction::Read,
            payload: Bytes::new(64),
            senders: vec![2],
            hot_node: None,
            turnaround: Time::from_ns(400),
            outstanding,
        };
        let mut seen = Transactions {
            offered: vec![0; 4],
            completed: vec![0; 4],
            ..Transactions::default()
        };
        let mut simulation = sci::Simulation::new(Arc::clone(&machine), &traffic, 5, 0);
        simulation.run_until(&mut seen, 200_000);
        (seen, simulation.now())
    };
    // A read alone, from light load: its mean time in cycles.
    let (light, _) = run(Outstanding::AtMost(1), 1);
    let alone = light.responses.iter().sum::<u64>() as f64 / light.responses.len() as f64;
    let mut before = 0.0;
    for most in [1, 2, 4] {
        let (seen, cycles) = run(Outstanding::AtMost(most), 900);
        let found = seen.completed[2] as f64;
        let expected = f64::from(most) * cycles as f64 / alone;
        println!("{most} under way: {found} reads, {expected:.0} by payload over latency");
        // Several meet one another at the interface: fewer than the product then.
        assert!(found <= 1.01 * expected && found > 0.9 * expected && found > before);
        // What waits counts as offered.
        assert!(seen.offered[2] > seen.completed[2] + 1_000);
        before = found;
    }
}
