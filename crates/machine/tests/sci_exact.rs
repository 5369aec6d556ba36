//! Whole fabrics with their traffic on both engines: the same events at the same cycles.

use isthmus_kernel::{Cycles, Stream, Streams, Uniform, unit_interval};
use isthmus_machine::sci::spec::{ChangeFrom, CutOff, Queues, SciSpec, Source};
use isthmus_machine::sci::{Arrival, Machine, Observer, Simulation};
use isthmus_topology::rings::{Faults, Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{HotNode, PacketTraffic, Spacing, Transaction};
use std::sync::Arc;

/// Machines to be compared.
const CASES: u32 = 500;

/// Draws whatever a case needs.
struct Dice(Stream);

impl Dice {
    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + Uniform::below(high - low + 1).draw(&mut self.0)
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[Uniform::below(of.len() as u32).draw(&mut self.0) as usize]
    }

    fn sometimes(&mut self, probability: f64) -> bool {
        unit_interval(&mut self.0) < probability
    }

    fn shape(&mut self) -> Shape {
        let (x, y) = (self.between(2, 5), self.between(2, 4));
        match self.between(0, 6) {
            0 => Shape::Ring { nodes: x + y },
            1 => Shape::CounterRotating { nodes: x + y },
            2 => Shape::Torus { sizes: vec![x, y] },
            3 => Shape::BidirectionalTorus { sizes: vec![x, y] },
            4 => Shape::UniformRingTorus {
                sizes: [x.max(3), y.max(3)],
            },
            5 => Shape::Manhattan {
                sizes: [2 * x.min(3), 2 * y.min(2)],
            },
            _ => Shape::BidirectionalTorus {
                sizes: vec![2, y.min(3), x.min(3)],
            },
        }
    }

    fn routing(&mut self, shape: &Shape) -> Routing {
        let ordered = !matches!(shape, Shape::Manhattan { .. });
        let rules = [
            Routing::FewestChanges,
            Routing::Random,
            Routing::Fixed,
            Routing::DimensionOrder,
        ];
        self.pick(&rules[..if ordered { 4 } else { 3 }])
    }

    fn spec(&mut self) -> SciSpec {
        let shape = self.shape();
        SciSpec {
            routing: self.routing(&shape),
            faults: Faults {
                nodes: if self.sometimes(0.2) { vec![1] } else { vec![] },
                links: Vec::new(),
            },
            cut_off: CutOff::LeaveOut,
            hop: Time::from_ns(2 * u64::from(self.between(1, 20))),
            ring_change: Time::from_ns(2 * u64::from(self.between(1, 40))),
            ring_change_from: self.pick(&[ChangeFrom::Header, ChangeFrom::Transfer]),
            queues: Queues {
                input: self.between(1, 6),
                output: self.between(1, 6),
                client: self.between(1, 6),
            },
            source: self.pick(&[Source::Unbounded, Source::Bounded]),
            patience: Time::from_us(10),
            ..SciSpec::of_paper(shape)
        }
    }

    fn traffic(&mut self) -> PacketTraffic {
        PacketTraffic {
            load: Bandwidth::from_mb_per_s(u64::from(self.between(300, 12_000))),
            spacing: self.pick(&[Spacing::Exponential, Spacing::Deterministic]),
            phases: self.pick(&[0.0, 0.4, 1.0]),
            transaction: self.pick(&[Transaction::Move, Transaction::Read, Transaction::Write]),
            payload: Bytes::new(self.pick(&[16, 64, 256])),
            senders: Vec::new(),
            hot_node: self.sometimes(0.3).then_some(HotNode {
                node: 0,
                probability: 0.4,
            }),
            turnaround: Time::from_ns(2 * u64::from(self.between(1, 100))),
            outstanding: if self.sometimes(0.4) {
                Outstanding::AtMost(self.between(1, 4))
            } else {
                Outstanding::Unlimited
            },
        }
    }
}

/// All events that an observer receives, in an order that does not depend on the engine.
#[derive(Debug, Default, PartialEq)]
struct Log {
    offered: Vec<u64>,
    arrivals: Vec<(u32, Cycles, Cycles, u32, u32, u32)>,
    completed: Vec<(u32, Option<Cycles>)>,
    dropped: Vec<u32>,
}

impl Log {
    fn sorted(mut self) -> Self {
        self.arrivals.sort_unstable();
        self.completed.sort_unstable();
        self.dropped.sort_unstable();
        self
    }
}

impl Observer for Log {
    fn offered(&mut self, node: u32) {
        let node = node as usize;
        if self.offered.len() <= node {
            self.offered.resize(node + 1, 0);
        }
        self.offered[node] += 1;
    }

    fn arrived(&mut self, arrival: &Arrival) {
        let Arrival {
            source,
            latency,
            network,
            links,
            ring_changes,
            retries,
        } = *arrival;
        let row = (source, latency, network, links, ring_changes, retries);
        self.arrivals.push(row);
    }

    fn completed(&mut self, node: u32, response: Option<Cycles>) {
        self.completed.push((node, response));
    }

    fn dropped(&mut self, node: u32) {
        self.dropped.push(node);
    }

    fn finished(&self) -> bool {
        false
    }
}

#[test]
fn both_engines_say_the_same_of_random_fabrics_and_loads() {
    let (mut machines, mut skipped, mut loaded) = (0, 0, 0);
    let (mut packets, mut retries, mut dropped, mut responses, mut collapsed) = (0, 0, 0, 0, 0);
    for case in 0.. {
        if machines == CASES {
            break;
        }
        let mut dice = Dice(Streams::new(7, case).stream("case", 0));
        let (spec, traffic) = (dice.spec(), dice.traffic());
        let Ok(machine) = Machine::new(&spec).map(Arc::new) else {
            // The fault has left nobody to send to.
            skipped += 1;
            assert!(skipped < CASES / 10, "most cases must be machines");
            continue;
        };
        let until = machine.cycles(Time::from_us(30));
        let run = |mut simulation: Simulation| {
            let mut log = Log::default();
            simulation.run_until(&mut log, until);
            let links: Vec<_> = simulation.links().collect();
            let stall = simulation.stall().cloned();
            (log.sorted(), links, simulation.nodes().to_vec(), stall)
        };
        let by_event = run(Simulation::new(Arc::clone(&machine), &traffic, 3, case));
        let by_symbol = run(Simulation::by_symbol(
            Arc::clone(&machine),
            &traffic,
            3,
            case,
        ));
        assert_eq!(by_event, by_symbol, "case {case}: {spec:?} {traffic:?}");
        let (log, _, _, stall) = by_event;
        machines += 1;
        loaded += u32::from(!log.arrivals.is_empty());
        packets += log.arrivals.len();
        retries += log.arrivals.iter().map(|row| u64::from(row.5)).sum::<u64>();
        dropped += log.dropped.len();
        let answered = log.completed.iter().filter(|row| row.1.is_some());
        responses += answered.count();
        collapsed += u32::from(stall.is_some());
    }
    println!(
        "{machines} random fabrics and loads ({skipped} more left nobody to send to), {packets} \
         requests arrived, {retries} refusals, {dropped} dropped, {responses} responses, \
         {collapsed} fabrics collapsed: no difference"
    );
    assert!(loaded >= CASES * 9 / 10, "{loaded} fabrics with arrivals");
    assert!(packets > 500_000, "{packets} packets");
    assert!(retries > 50_000, "{retries} refusals");
    assert!(dropped > 100_000, "{dropped} drops");
    assert!(responses > 100_000, "{responses} responses");
    assert!(collapsed > 10, "{collapsed} collapses");
}
