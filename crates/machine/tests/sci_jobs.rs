//! Jobs on SCI fabrics: by hand, and on both engines.

use isthmus_kernel::{Cycles, Stream, Streams, Uniform, unit_interval};
use isthmus_machine::jobs::{Completed, Observer, Packet, Phase, Replication as _, Stored};
use isthmus_machine::sci::spec::{ChangeFrom, Queues, SciSpec, Transfer};
use isthmus_machine::sci::{JobsSimulation, Machine};
use isthmus_topology::rings::{Routing, Shape};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    AllReduce, Arrivals, Destinations, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers,
    Sizes, Spread, Targets, Traffic,
};
use isthmus_workload::storage::{DiskSpec, StorageSpec};
use std::sync::Arc;

/// Machines to be compared.
const CASES: u32 = 150;

/// Cycles of 2 ns.
const HOP: u64 = 10;
/// Symbols of 2 B: 16 B of header, 8 B of echo.
const HEADER: u64 = 8;
/// Symbols of 64 B.
const DATA: u64 = 32;
const TURNAROUND: u64 = 25;

fn ring(nodes: u32) -> SciSpec {
    SciSpec {
        hop: Time::from_ns(2 * HOP),
        ring_change: Time::from_ns(60),
        ..SciSpec::of_paper(Shape::Ring { nodes })
    }
}

fn transfer(transactions: u32) -> Transfer {
    Transfer {
        payload: Bytes::new(64),
        turnaround: Time::from_ns(2 * TURNAROUND),
        transactions,
    }
}

fn one_job(traffic: Traffic, nodes: Vec<u32>) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        storage: StorageSpec::None,
        servers: Servers::None,
        mapping: Mapping::Shared,
        jobs: vec![Job {
            name: "job".to_owned(),
            nodes: JobNodes::Listed(nodes),
            traffic,
            outstanding: Outstanding::ONE,
            active: true,
        }],
    }
}

/// All events that an observer receives.
#[derive(Debug, Default, PartialEq)]
struct Log {
    offered: Vec<u64>,
    packets: Vec<(u32, u32, u32, u32, u64, Cycles)>,
    stored: Vec<(u32, u32, u64)>,
    completed: Vec<(u32, Cycles, Cycles)>,
    phases: Vec<(u32, Cycles, Cycles)>,
    enough: Option<usize>,
}

impl Log {
    /// In an order that does not depend on the engine.
    fn sorted(mut self) -> Self {
        self.packets.sort_unstable();
        self.stored.sort_unstable();
        self.completed.sort_unstable();
        self.phases.sort_unstable();
        self
    }
}

impl Observer for Log {
    fn offered(&mut self, job: u32) {
        let job = job as usize;
        if self.offered.len() <= job {
            self.offered.resize(job + 1, 0);
        }
        self.offered[job] += 1;
    }

    fn packet(&mut self, packet: &Packet) {
        let Packet {
            job,
            client,
            from,
            to,
            bytes,
            latency,
            answer: _,
        } = *packet;
        self.packets.push((job, client, from, to, bytes, latency));
    }

    fn stored(&mut self, stored: &Stored) {
        let row = (stored.job, stored.client, stored.bytes);
        self.stored.push(row);
    }

    fn completed(&mut self, completed: &Completed) {
        let row = (completed.job, completed.response, completed.network);
        self.completed.push(row);
    }

    fn phase(&mut self, phase: &Phase) {
        self.phases.push((phase.job, phase.start, phase.end));
    }

    fn finished(&self) -> bool {
        self.enough
            .is_some_and(|enough| self.completed.len() >= enough)
    }
}

fn run(spec: &SciSpec, transfer: Transfer, traffic: &JobsTraffic, until: Cycles) -> Log {
    let machine = Arc::new(Machine::new(spec).unwrap());
    let layout = Layout::new(traffic, machine.fabric().node_count()).unwrap();
    let mut log = Log::default();
    JobsSimulation::new(machine, transfer, traffic, &layout, 1, 0).run_until(&mut log, until);
    log
}

/// A write of s symbols over h hops is there after h hops and s symbols, its response over the other
/// n - h hops likewise. A read is the same with the data on the way back. What follows a response waits
/// a cycle: when its tail is there the idle behind its echo has still to leave.
#[test]
fn a_ping_by_hand() {
    let (nodes, to) = (6, 4);
    let ping = |message| {
        one_job(
            Traffic::Ping {
                message: Bytes::new(message),
                both_ways: false,
                pause: Time::ZERO,
            },
            vec![0, to],
        )
    };
    let around = u64::from(nodes) * HOP;
    let one = |symbols: u64| around + symbols + HEADER + TURNAROUND;
    // Nothing; a block of 16 B; 20 B, two blocks; a full packet.
    for (message, symbols) in [(0, 8), (1, 16), (16, 16), (20, 24), (64, 40)] {
        let log = run(
            &ring(nodes),
            transfer(8),
            &ping(message),
            100 * one(symbols),
        );
        assert_eq!(log.completed.len(), 99, "{message} B");
        let next = one(symbols) + 1;
        assert_eq!(log.completed[0], (0, next - 1, next - 1));
        assert!(log.completed[1..].iter().all(|row| *row == (0, next, next)));
        let there = u64::from(to) * HOP + symbols;
        let packet = (0, 0, 0, to, message, there);
        assert!(log.packets.iter().all(|row| *row == packet));
    }
    // One after another: 3 full transactions and one of 8 B in a block of 16 B.
    let (full, last) = (one(HEADER + DATA), one(HEADER + 8));
    let message = 3 * full + last + 4;
    let log = run(&ring(nodes), transfer(1), &ping(200), 10 * message);
    assert_eq!(log.completed[0], (0, message - 1, message - 1));
    assert_eq!(log.completed[1..], vec![(0, message, message); 9]);
    let sent = log.packets.iter().map(|row| row.4);
    assert_eq!(sent.sum::<u64>(), 2000);
    // All at once: each starts when the one before and its idle have left.
    let all = 3 * (HEADER + DATA + 1) + around + HEADER + 8 + HEADER + TURNAROUND;
    let log = run(&ring(nodes), transfer(4), &ping(200), 10 * all + 1);
    assert_eq!(log.completed[0], (0, all, all));
    // Reads of 64 B from a server take as long as writes.
    let mut reads = one_job(
        Traffic::Io(Io {
            targets: Targets::HotNode(to),
            read_ratio: 1.0,
            sizes: Sizes {
                mean: Bytes::new(64),
                spread: Spread::Fixed,
            },
            arrivals: Arrivals::equal_pauses(Time::ZERO),
        }),
        vec![0],
    );
    reads.servers = Servers::None;
    let log = run(&ring(nodes), transfer(8), &reads, 20 * (full + 1));
    assert_eq!(log.completed[0], (0, full, full));
    assert_eq!(log.completed[1..], vec![(0, full + 1, full + 1); 19]);
    let back = u64::from(nodes - to) * HOP + HEADER + DATA;
    assert_eq!(log.packets[0], (0, 0, to, 0, 64, back));
}

/// Four nodes combine 256 B round the ring in 6 steps of 64 B, each to the next node. All send at once.
/// With hops of 10 cycles a request is there after 10 + 40 and answered 25 later. Until then the echoes of
/// the others have passed (their last symbols at 50, 60 and 70), and while responses go 3 hops they follow one another a
/// hop apart, longer than their 9 cycles: nothing waits. After its answer a node goes on a cycle later,
/// behind the idle of that one's echo.
#[test]
fn an_all_reduce_of_four_nodes_by_hand() {
    let traffic = one_job(
        Traffic::AllReduce {
            vector: Bytes::new(256),
            algorithm: AllReduce::Ring,
            pause: Time::ZERO,
        },
        vec![0, 1, 2, 3],
    );
    let log = run(&ring(4), transfer(8), &traffic, 20_000);
    let step = 4 * HOP + HEADER + DATA + TURNAROUND + HEADER;
    let first = 6 * step + 5;
    assert_eq!(log.phases[0], (0, 0, first));
    for (number, &phase) in (0..).zip(&log.phases) {
        let start = number * (first + 1);
        let row = (0, start.saturating_sub(1), start + first);
        assert_eq!(phase, row, "round {number}");
    }
    assert_eq!(log.phases.len() as u64, 20_000 / (first + 1));
    // 4 nodes send 6 messages of 64 B a round.
    let sent: u64 = log.packets.iter().map(|row| row.4).sum();
    assert!(sent >= log.phases.len() as u64 * 6 * 4 * 64);
}

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

    fn spec(&mut self) -> SciSpec {
        let (x, y) = (self.between(2, 4), self.between(2, 3));
        let shape = match self.between(0, 3) {
            0 => Shape::Ring { nodes: x + y },
            1 => Shape::CounterRotating { nodes: x + y },
            2 => Shape::Torus { sizes: vec![x, y] },
            _ => Shape::BidirectionalTorus { sizes: vec![x, y] },
        };
        SciSpec {
            shape,
            routing: self.pick(&[Routing::Random, Routing::DimensionOrder]),
            hop: Time::from_ns(2 * u64::from(self.between(1, 20))),
            ring_change: Time::from_ns(2 * u64::from(self.between(1, 40))),
            ring_change_from: self.pick(&[ChangeFrom::Header, ChangeFrom::Transfer]),
            queues: Queues {
                input: self.between(1, 6),
                output: self.between(1, 6),
                client: self.between(1, 6),
            },
            ..ring(2)
        }
    }

    fn sizes(&mut self) -> Sizes {
        Sizes {
            mean: Bytes::new(u64::from(self.between(1, 600))),
            spread: self.pick(&[Spread::Fixed, Spread::Exponential, Spread::Uniform]),
        }
    }

    fn arrivals(&mut self) -> Arrivals {
        if self.sometimes(0.5) {
            return Arrivals::equal_pauses(Time::from_ns(u64::from(self.between(0, 500))));
        }
        Arrivals::Open {
            load: Bandwidth::from_mb_per_s(u64::from(self.between(5, 150))),
            gaps: self.pick(&[Spread::Fixed, Spread::Exponential, Spread::Uniform]),
        }
    }

    fn traffic(&mut self, nodes: u32) -> Traffic {
        let message = Bytes::new(u64::from(self.between(1, 600)));
        let pause = Time::from_ns(u64::from(self.between(0, 500)));
        match self.between(0, 6) {
            0 => Traffic::Uniform {
                sizes: self.sizes(),
                arrivals: self.arrivals(),
            },
            1 => Traffic::AllToAll { message, pause },
            2 => Traffic::AllReduce {
                vector: message,
                algorithm: self.pick(&[AllReduce::Ring, AllReduce::RecursiveDoubling]),
                pause,
            },
            3 => Traffic::Neighbours {
                grid: vec![nodes],
                wrap: self.sometimes(0.5),
                message,
                pause,
            },
            4 => Traffic::Checkpoint {
                period: Time::from_ns(u64::from(self.between(4_000, 20_000))),
                volume: Bytes::new(u64::from(self.between(1, 2_000))),
                message,
                destinations: Destinations::Interleaved,
            },
            _ => Traffic::Io(Io {
                targets: Targets::Servers(self.pick(&[
                    Destinations::Random,
                    Destinations::Interleaved,
                    Destinations::Blocked,
                ])),
                read_ratio: self.pick(&[0.0, 0.5, 1.0]),
                sizes: self.sizes(),
                arrivals: self.arrivals(),
            }),
        }
    }

    fn storage(&mut self) -> StorageSpec {
        let disk = DiskSpec {
            seek: Time::from_ns(u64::from(self.between(0, 2_000))),
            rotation: Time::from_ns(u64::from(self.between(0, 2_000))),
            transfer: Some(Bandwidth::from_mb_per_s(u64::from(self.between(50, 900)))),
        };
        match self.between(0, 4) {
            0 => StorageSpec::Disk(disk),
            1 => StorageSpec::Array {
                disks: 4,
                unit: Bytes::new(64),
                parity: 1,
                disk,
            },
            2 => StorageSpec::BurstBuffer {
                capacity: Bytes::new(2_000),
                absorb: Bandwidth::from_mb_per_s(900),
                drain: Bandwidth::from_mb_per_s(90),
            },
            _ => StorageSpec::None,
        }
    }

    fn jobs(&mut self, nodes: u32) -> JobsTraffic {
        let jobs = (0..self.between(1, 2)).map(|number| {
            let traffic = self.traffic(nodes);
            Job {
                name: format!("job{number}"),
                nodes: JobNodes::All,
                traffic,
                outstanding: Outstanding::AtMost(self.between(1, 3)),
                active: true,
            }
        });
        let jobs = jobs.collect();
        JobsTraffic {
            serve: Serve::All,
            storage: self.storage(),
            jobs,
            servers: Servers::Clustered { count: 2 },
            mapping: Mapping::Shared,
        }
    }
}

#[test]
fn both_engines_say_the_same_of_random_jobs() {
    let (mut packets, mut messages, mut phases, mut several, mut reads) = (0, 0, 0, 0, 0);
    let mut stored = 0;
    for case in 0..CASES {
        let mut dice = Dice(Streams::new(11, case.into()).stream("case", 0));
        let spec = dice.spec();
        let machine = Arc::new(Machine::new(&spec).unwrap());
        let nodes = machine.fabric().node_count();
        let traffic = dice.jobs(nodes);
        let transfer = Transfer {
            payload: Bytes::new(dice.pick(&[16, 64, 256])),
            turnaround: Time::from_ns(2 * u64::from(dice.between(0, 100))),
            transactions: dice.between(1, 5),
        };
        let layout = Layout::new(&traffic, nodes).unwrap();
        let until = machine.cycles(Time::from_us(30));
        let run = |mut simulation: JobsSimulation| {
            let mut log = Log::default();
            simulation.run_until(&mut log, until);
            let links: Vec<_> = simulation.links().collect();
            let stall = simulation.stall().cloned();
            let devices = simulation.counted_behind();
            (log.sorted(), links, devices, simulation.under_way(), stall)
        };
        let [by_event, by_symbol] = [JobsSimulation::new, JobsSimulation::by_symbol].map(|new| {
            let machine = Arc::clone(&machine);
            run(new(machine, transfer, &traffic, &layout, 3, case.into()))
        });
        assert_eq!(
            by_event, by_symbol,
            "case {case}: {spec:?} {traffic:?} {transfer:?}"
        );
        let log = by_event.0;
        packets += log.packets.len();
        messages += log.completed.len();
        stored += log.stored.len();
        phases += log.phases.len();
        several += usize::from(
            traffic
                .jobs
                .iter()
                .any(|job| job.outstanding != Outstanding::ONE),
        );
        reads += log.packets.iter().filter(|row| row.1 == row.3).count();
    }
    println!(
        "{packets} packets, {messages} messages, {stored} stored, {phases} phases, {several} with several, \
         {reads} reads"
    );
    assert!(
        packets > 20_000 && messages > 8_000 && phases > 500 && stored > 500,
        "too little happened"
    );
    assert!(
        several > CASES as usize / 3 && reads > 1_000,
        "too few cases of interest"
    );
}

/// Closed loops that stop after so many messages: all data of each has come in once.
#[test]
fn what_is_sent_arrives_once() {
    for transactions in [1, 3, 64] {
        let traffic = one_job(
            Traffic::Checkpoint {
                period: Time::from_us(1_000),
                volume: Bytes::new(10_000),
                message: Bytes::new(700),
                destinations: Destinations::Random,
            },
            (0..6).collect(),
        );
        let traffic = JobsTraffic {
            servers: Servers::Listed(vec![6, 7]),
            ..traffic
        };
        // Long after the first checkpoint, before the second.
        let until = 400_000;
        let log = run(&ring(8), transfer(transactions), &traffic, until);
        assert_eq!(log.offered, [6 * 15]);
        assert_eq!(log.completed.len(), 6 * 15);
        assert_eq!(log.phases.len(), 1);
        let mut sent = [0; 6];
        for &(_, client, from, to, bytes, _) in &log.packets {
            assert!(client == from && to >= 6 && bytes <= 64);
            sent[client as usize] += bytes;
        }
        assert_eq!(sent, [10_000; 6]);
        // 14 messages of 700 B in 11 packets, one of 200 B in 4.
        assert_eq!(log.packets.len(), 6 * (14 * 11 + 4));
    }
}

/// A device stands behind the server: a write waits for it with its last response, a read with its first and
/// all others, and messages of several nodes one after another, whichever ring they come by.
#[test]
fn devices_by_hand() {
    let disk = |ns_per_byte: u64| {
        StorageSpec::Disk(DiskSpec {
            seek: Time::ZERO,
            rotation: Time::ZERO,
            transfer: Some(Bandwidth::from_mb_per_s(1_000 / ns_per_byte)),
        })
    };
    let io = |read_ratio: f64| {
        Traffic::Io(Io {
            targets: Targets::Servers(Destinations::Random),
            read_ratio,
            sizes: Sizes {
                mean: Bytes::new(160),
                spread: Spread::Fixed,
            },
            arrivals: Arrivals::equal_pauses(Time::from_us(1_000)),
        })
    };
    let first = |traffic: Traffic, nodes: Vec<u32>, storage: StorageSpec, spec: &SciSpec| {
        let traffic = JobsTraffic {
            servers: Servers::Listed(vec![0]),
            storage,
            ..one_job(traffic, nodes)
        };
        run(spec, transfer(8), &traffic, 100_000).completed
    };
    for reads in [0.0, 1.0] {
        let [(_, bare, _)] = first(io(reads), vec![3], StorageSpec::None, &ring(6))[..] else {
            panic!("one message");
        };
        let [(_, stored, _)] = first(io(reads), vec![3], disk(10), &ring(6))[..] else {
            panic!("one message");
        };
        // 160 B at 10 ns each are 800 cycles of 2 ns; the other responses of a read have waited, and leave
        // one after another.
        let device = 800;
        match reads {
            0.0 => assert_eq!(stored, bare + device),
            _ => assert!(
                (bare + device - 150..bare + device + 150).contains(&stored),
                "{stored} after {bare}"
            ),
        }
    }
    // Both neighbours of a counter-rotating ring write at once, each by a ring of its own: the one of the
    // lower number is served first.
    let spec = SciSpec {
        shape: Shape::CounterRotating { nodes: 6 },
        ..ring(6)
    };
    let mut both = first(io(0.0), vec![5, 1], disk(10), &spec);
    both.sort_unstable();
    let [(_, one, _), (_, other, _)] = both[..] else {
        panic!("two messages");
    };
    assert_eq!(other - one, 800);
}
