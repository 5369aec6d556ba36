//! Whole machines against the flit-by-flit reference: hypercubes of several dimensions, widths,
//! placements, faults, message lengths, loads and kinds of traffic. Every grant and arrival of
//! every message must be the same.

use isthmus_flit::{Arrival, Message, Ready};
use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec, Lanes, PlacementSpec, Service};
use isthmus_machine::hypercube::{
    Completed, Flow, Leg, Machine, MachineError, Observer, Simulation, Started,
};
use isthmus_topology::PlacementError;
use isthmus_units::{Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::spec::{Arrival as Arrivals, Collectives, FileLayout, HotSpot, TrafficSpec};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::sync::Arc;

/// Flits that the buffer of a lane holds.
const DEPTH: usize = 1;

/// Keeps everything about every message.
#[derive(Default)]
struct Trace {
    limit: usize,
    started: Vec<(u64, u32, Vec<u32>, Option<u64>)>,
    grants: Vec<Vec<u64>>,
    arrivals: Vec<Option<(u64, u64)>>,
    arrived: usize,
}

impl Observer for Trace {
    fn offered(&mut self, _flow: Flow, _time: u64) {}

    fn arrived(&mut self, leg: &Leg) {
        self.arrivals[leg.number as usize] = Some((leg.header, leg.tail));
        self.arrived += 1;
    }

    fn completed(&mut self, _completed: &Completed) {}

    fn finished(&self) -> bool {
        self.arrived >= self.limit
    }

    fn started(&mut self, started: &Started<'_>) {
        assert_eq!(started.number as usize, self.started.len());
        let path = started.path.to_vec();
        self.started
            .push((started.time, started.length, path, started.cause));
        self.grants.push(Vec::new());
        self.arrivals.push(None);
    }

    fn granted(&mut self, number: u64, hop: u32, time: u64) {
        assert_eq!(self.grants[number as usize].len(), hop as usize);
        self.grants[number as usize].push(time);
    }
}

fn placement(dimension: u32) -> impl Strategy<Value = PlacementSpec> {
    let pes = 1u32 << dimension;
    prop_oneof![
        3 => Just(PlacementSpec::Combined),
        1 => (1..=pes.min(6)).prop_map(|count| PlacementSpec::Stride { count }),
        1 => (1..=pes.min(6)).prop_map(|count| PlacementSpec::Clustered { count }),
        1 => prop::collection::btree_set(0..pes, 1..=pes.min(5) as usize)
            .prop_map(|pes| PlacementSpec::List(pes.into_iter().collect())),
    ]
}

fn faults(dimension: u32) -> impl Strategy<Value = FaultSpec> {
    let pes = 1u32 << dimension;
    let link = (0..pes, 0..dimension).prop_map(|(pe, along)| (pe, pe ^ (1 << along)));
    let some = (
        prop::collection::vec(0..pes, 0..2),
        prop::collection::vec(0u32..4, 0..2),
        prop::collection::vec(link, 0..3),
    )
        .prop_map(|(pes, io_nodes, links)| FaultSpec {
            pes,
            io_nodes,
            links,
            io_links: Vec::new(),
        });
    prop_oneof![2 => Just(FaultSpec::default()), 1 => some]
}

fn machine() -> impl Strategy<Value = HypercubeSpec> {
    (1u32..=6)
        .prop_flat_map(|dimension| {
            let lanes = (1u32..5, 1u32..3, 1u32..4, 1u32..5, 0u32..3, 1u32..5);
            (
                Just(dimension),
                lanes,
                placement(dimension),
                faults(dimension),
                0u64..40,
            )
        })
        .prop_map(
            |(dimension, (k, link, m, r, b, n), placement, faults, delay)| {
                let mut spec = HypercubeSpec::paper(dimension, b);
                spec.lanes = Lanes {
                    pe: k,
                    link,
                    io_node: m,
                    io_source: r,
                    io_link: b,
                    io_to_pe: n,
                };
                spec.placement = placement;
                spec.faults = faults;
                spec.device.startup = Time::from_ns(delay * 50);
                spec.device.access = Time::from_ns(delay * 100);
                spec.device.cache_hit_rate = if delay % 2 == 0 { 1.0 } else { 0.5 };
                spec.device.disk.seek = Time::from_us(20);
                spec.device.disk.rotation = Time::from_us(10);
                spec.device.service = if delay % 3 == 0 {
                    Service::Queue
                } else {
                    Service::Delay
                };
                spec
            },
        )
}

fn traffic() -> impl Strategy<Value = TrafficSpec> {
    let arrival = (2u64..400, 0u32..4, 1u32..4).prop_map(|(gap, kind, outstanding)| {
        let mean = Time::from_ns(gap * 50);
        match kind {
            0 => Arrivals::Exponential { mean },
            1 => Arrivals::Deterministic { gap: mean },
            2 => Arrivals::Bursty {
                mean,
                burst_messages: 3.0,
                burst_gap: Time::from_ns(50),
            },
            _ => Arrivals::Closed {
                think: mean,
                outstanding,
            },
        }
    });
    let shares = (
        0.0..=1.0f64,
        0.0..=1.0f64,
        0.0..=1.0f64,
        any::<bool>(),
        any::<bool>(),
    );
    let lengths = (1u64..40, 1u64..20, 1u64..120, 1u32..4, any::<bool>());
    (arrival, shares, lengths).prop_map(
        |(
            arrival,
            (io, read, locality, hot, collective),
            (message, request, block, blocks, whole),
        )| {
            TrafficSpec {
                arrival,
                outstanding: if whole {
                    Outstanding::Unlimited
                } else {
                    Outstanding::AtMost(blocks)
                },
                io_probability: io,
                read_ratio: read,
                locality,
                message: Bytes::new(message),
                request: Bytes::new(request),
                block: Bytes::new(block),
                file_blocks_min: 1,
                file_blocks_max: blocks,
                file_blocks_split: 2,
                layout: if whole {
                    FileLayout::Contiguous
                } else {
                    FileLayout::Declustered
                },
                hot_pe: hot.then_some(HotSpot {
                    target: 0,
                    probability: 0.3,
                }),
                hot_io_node: hot.then_some(HotSpot {
                    target: 0,
                    probability: 0.3,
                }),
                collectives: Collectives {
                    broadcast: if collective { 0.05 } else { 0.0 },
                    scatter: if collective { 0.1 } else { 0.0 },
                    gather: if collective { 0.1 } else { 0.0 },
                    group: 3,
                },
            }
        },
    )
}

/// The same messages for the reference. A message that another one set off follows its tail.
fn messages(trace: &Trace) -> Vec<Message> {
    trace
        .started
        .iter()
        .enumerate()
        .map(|(number, (time, length, path, cause))| Message {
            ready: match cause {
                None => Ready::At(*time),
                Some(of) => {
                    let (_, tail) = trace.arrivals[*of as usize].expect("causes have arrived");
                    Ready::After {
                        message: *of as usize,
                        delay: time - tail,
                    }
                }
            },
            length: *length,
            path: path.clone(),
            rank: number as u64,
        })
        .collect()
}

#[test]
fn whole_machines_equal_the_flit_reference() {
    let cases = 1_500;
    let (compared, faulty) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::new(Config {
        cases,
        max_global_rejects: 100_000,
        failure_persistence: None,
        ..Config::default()
    });
    let strategy = (machine(), traffic(), any::<u64>(), 10usize..160);
    runner
        .run(&strategy, |(spec, traffic, seed, limit)| {
            let machine = match Machine::new(&spec) {
                Ok(machine) => Arc::new(machine),
                // Random faults may name what is not there, or cut the machine apart.
                Err(
                    MachineError::Placement(PlacementError::MissingIoNode { .. })
                    | MachineError::Disconnected { .. }
                    | MachineError::NobodyLeft
                    | MachineError::NoIoNodeLeft,
                ) => return Err(TestCaseError::reject("no such machine")),
                Err(error) => panic!("{error}"),
            };
            machine
                .check_deadlock()
                .expect("routes are free of deadlock");
            let lanes: Vec<u32> = machine.layout().all_lanes().collect();
            let mut simulation = Simulation::new(machine, &traffic, seed, 0);
            let mut trace = Trace {
                limit,
                ..Trace::default()
            };
            prop_assert!(simulation.run(&mut trace), "the machine got stuck");
            let reference =
                isthmus_flit::run(&lanes, DEPTH, &messages(&trace)).expect("no deadlock");
            let end = simulation.now();
            for (number, expected) in reference.iter().enumerate() {
                let Arrival {
                    grants,
                    header,
                    tail,
                    ..
                } = expected;
                let granted = &trace.grants[number];
                // Messages still under way at the end have been granted a part of their path.
                prop_assert_eq!(granted, &grants[..granted.len()].to_vec());
                prop_assert!(grants.get(granted.len()).is_none_or(|&next| next >= end));
                if let Some(arrival) = trace.arrivals[number] {
                    prop_assert_eq!(arrival, (*header, *tail));
                }
            }
            compared.set(compared.get() + reference.len());
            faulty.set(faulty.get() + u32::from(spec.faults != FaultSpec::default()));
            Ok(())
        })
        .unwrap();
    println!(
        "{cases} random machines and workloads ({} with faults), {} messages: \
         no difference in any grant or arrival",
        faulty.get(),
        compared.get()
    );
}
