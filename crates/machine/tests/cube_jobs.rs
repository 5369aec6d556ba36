//! Jobs on hypercubes: by closed forms, whole and in pieces, and beside the demands of PEs.

use isthmus_kernel::{Cycles, Stream, Streams, Uniform};
use isthmus_machine::hypercube::spec::{
    DeviceSpec, FaultSpec, HypercubeSpec, Lanes, PlacementSpec, Service, Transfer,
};
use isthmus_machine::hypercube::{self, Flow, JobsSimulation, Leg, Machine, Operation, Simulation};
use isthmus_machine::jobs::{Completed, Observer, Packet, Phase, Replication as _, Stored};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    AllReduce, Arrivals, Destinations, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers,
    Sizes, Spread, Targets, Traffic,
};
use isthmus_workload::spec::{Arrival, Collectives, FileLayout, TrafficSpec};
use isthmus_workload::storage::StorageSpec;
use std::sync::Arc;

/// Messages that are looked at alone.
const ALONE: u32 = 400;
/// Machines and jobs that are run whole and in pieces.
const CASES: u32 = 60;

/// Cycles of 50 ns, one for each byte.
const STARTUP: Cycles = 4_000;
const ACCESS: Cycles = 8_000;
const REQUEST: Cycles = 32;

fn one_job(traffic: Traffic, nodes: Vec<u32>, io_nodes: u32) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        storage: cache(1.0, false),
        servers: Servers::Apart { count: io_nodes },
        mapping: Mapping::Dedicated,
        jobs: vec![job("job", traffic, nodes)],
    }
}

fn job(name: &str, traffic: Traffic, nodes: Vec<u32>) -> Job {
    Job {
        name: name.to_owned(),
        nodes: JobNodes::Listed(nodes),
        traffic,
        outstanding: Outstanding::ONE,
        active: true,
    }
}

/// The cache and disk of Table 1.
fn cache(hit_rate: f64, queued: bool) -> StorageSpec {
    let device = DeviceSpec::default();
    StorageSpec::Cache {
        access: device.access,
        hit_rate,
        disk: device.disk,
        queued,
    }
}

fn transfer(unit: u64, worms: u32) -> Transfer {
    Transfer {
        unit: Bytes::new(unit),
        worms,
        request: Bytes::new(REQUEST),
    }
}

/// Reads or writes of this length, one after another without a pause.
fn io(targets: Targets, bytes: u64, read_ratio: f64) -> Traffic {
    Traffic::Io(Io {
        targets,
        read_ratio,
        sizes: Sizes {
            mean: Bytes::new(bytes),
            spread: Spread::Fixed,
        },
        arrivals: Arrivals::equal_pauses(Time::ZERO),
    })
}

/// All events that an observer receives.
#[derive(Debug, Default, Clone, PartialEq)]
struct Log {
    offered: u64,
    packets: Vec<(u32, u32, u32, u64, Cycles)>,
    stored: Vec<(u32, u32, u64)>,
    completed: Vec<(u32, Cycles, Cycles)>,
    phases: Vec<(u32, Cycles, Cycles)>,
    enough: Option<usize>,
}

impl Observer for Log {
    fn offered(&mut self, _: u32) {
        self.offered += 1;
    }

    fn packet(&mut self, packet: &Packet) {
        let Packet {
            job,
            client: _,
            from,
            to,
            bytes,
            latency,
            answer,
        } = *packet;
        assert!(!answer);
        self.packets.push((job, from, to, bytes, latency));
    }

    fn stored(&mut self, stored: &Stored) {
        (self.stored).push((stored.job, stored.client, stored.bytes));
    }

    fn completed(&mut self, completed: &Completed) {
        let row = (completed.job, completed.response, completed.network);
        self.completed.push(row);
    }

    fn phase(&mut self, phase: &Phase) {
        self.phases.push((phase.job, phase.start, phase.end));
    }

    fn finished(&self) -> bool {
        let enough = |enough| self.completed.len() >= enough;
        self.enough.is_some_and(enough)
    }
}

fn simulation(spec: &HypercubeSpec, transfer: Transfer, traffic: &JobsTraffic) -> JobsSimulation {
    let machine = Arc::new(Machine::new(spec).unwrap());
    let layout = Layout::new(traffic, machine.cube().node_count()).unwrap();
    JobsSimulation::new(machine, transfer, traffic, &layout, 1, 0)
}

/// The first message of a PE alone, to another PE or to an I/O node.
fn first(spec: &HypercubeSpec, transfer: Transfer, pe: u32, other: u32, io: Traffic) -> Log {
    let machine = Arc::new(Machine::new(spec).unwrap());
    let pes = machine.cube().node_count();
    let servers = Vec::from_iter((other >= pes).then_some(other));
    let traffic = one_job(io, vec![pe], 1);
    let jobs = vec![vec![pe]];
    let layout = Layout { servers, jobs };
    let mut log = Log {
        enough: Some(1),
        ..Log::default()
    };
    JobsSimulation::new(machine, transfer, &traffic, &layout, 1, 0)
        .run_until(&mut log, Cycles::MAX);
    log
}

struct Draws(Stream);

impl Draws {
    fn below(&mut self, bound: u32) -> u32 {
        Uniform::below(bound).draw(&mut self.0)
    }
}

/// A worm of so many flits over so many channels, with its start-up.
fn worm(channels: u32, flits: u64) -> Cycles {
    STARTUP + u64::from(channels) + flits - 1
}

/// Channels between two PEs, or a PE and the router of an I/O node: the dimensions in which they differ, and
/// one at each end.
fn apart(a: u32, b: u32) -> u32 {
    (a ^ b).count_ones() + 2
}

/// A message alone, by arithmetic: each unit's worms one after another, as section 4.3 of the hypercube
/// paper describes them.
fn alone(spec: &HypercubeSpec, pe: u32, other: u32, read: bool, units: &[u64]) -> Cycles {
    let machine = Machine::new(spec).unwrap();
    let pes = machine.cube().node_count();
    let separate = spec.lanes.io_link > 0;
    let one = |bytes: u64| -> Cycles {
        if other < pes {
            return match read {
                true => worm(apart(pe, other), REQUEST) + worm(apart(pe, other), bytes),
                false => worm(apart(pe, other), bytes),
            };
        }
        let (holder, asked) = (other - pes, machine.io_node_of_pe(pe));
        let (holder_pe, asked_pe) = (machine.pe_of(holder), machine.pe_of(asked));
        let written = if read { 0 } else { bytes };
        let mut cycles = worm(apart(pe, asked_pe), REQUEST + written) + ACCESS;
        if holder != asked {
            // Labels of I/O nodes are those of their routers.
            let on = match separate {
                true => apart(asked, holder),
                false => apart(asked_pe, holder_pe),
            };
            cycles += worm(on, if read { REQUEST } else { bytes });
        }
        if read {
            let back = match (holder == asked, separate) {
                (true, _) => apart(asked_pe, pe),
                (false, true) => 1 + (asked ^ holder).count_ones() + apart(asked_pe, pe),
                (false, false) => apart(holder_pe, pe),
            };
            cycles += worm(back, bytes);
        }
        cycles
    };
    units.iter().map(|&bytes| one(bytes)).sum()
}

#[test]
fn messages_alone_take_what_arithmetic_says() {
    let mut draws = Draws(Streams::new(7, 0).stream("alone", 0));
    let mut seen = [0u32; 8];
    for _ in 0..ALONE {
        let dimension = 2 + draws.below(5);
        let spec = HypercubeSpec::paper(dimension, draws.below(3));
        let machine = Machine::new(&spec).unwrap();
        let pes = machine.cube().node_count();
        let io_nodes = machine.placement().io_node_count();
        let pe = draws.below(pes);
        let read = draws.below(2) == 1;
        let unit = 1 + u64::from(draws.below(500));
        let bytes = 1 + u64::from(draws.below(1_500));
        let io_node = draws.below(2) == 1;
        let (targets, other) = if io_node {
            let other = pes + draws.below(io_nodes);
            (Targets::Servers(Destinations::Random), other)
        } else {
            let other = (pe + 1 + draws.below(pes - 1)) % pes;
            (Targets::HotNode(other), other)
        };
        let reads = f64::from(u8::from(read));
        let mut units = vec![unit; (bytes / unit) as usize];
        units.extend((bytes % unit > 0).then_some(bytes % unit));
        let expected = alone(&spec, pe, other, read, &units);
        let one = io(targets, bytes, reads);
        let log = first(&spec, transfer(unit, 1), pe, other, one);
        assert_eq!(
            log.completed,
            [(0, expected, expected)],
            "dimension {dimension}, {:?}, PE {pe} and {other}, read {read}, {bytes} B in {unit} B",
            spec.lanes
        );
        let data: u64 = log.packets.iter().map(|&(.., bytes, _)| bytes).sum();
        assert_eq!((data, log.packets.len()), (bytes, units.len()));
        let stored: u64 = log.stored.iter().map(|&(.., bytes)| bytes).sum();
        assert_eq!(stored, if io_node && !read { bytes } else { 0 });
        let far = io_node && machine.io_node_of_pe(pe) != other - pes;
        seen[usize::from(io_node) * 4 + usize::from(read) * 2 + usize::from(far)] += 1;
    }
    let [w, _, r, _, near_w, far_w, near_r, far_r] = seen;
    for count in [w, r, near_w, far_w, near_r, far_r] {
        assert!(count > 5, "{seen:?}");
    }
}

/// A write whose I/O node has failed is passed on by that node's PE to the one that stands in, which has the
/// data of both.
#[test]
fn writes_to_a_failed_io_node_are_passed_on() {
    let mut spec = HypercubeSpec::paper(5, 2);
    let whole = Machine::new(&spec).unwrap();
    let pe = (whole.cube().nodes())
        .find(|&pe| whole.io_node_of_pe(pe) == 1 && pe != whole.pe_of(1))
        .unwrap();
    spec.faults.io_nodes = vec![1];
    let machine = Machine::new(&spec).unwrap();
    let (pes, by) = (machine.cube().node_count(), machine.serving_io_node(1));
    assert_ne!(by, 1);
    let to = Targets::Servers(Destinations::Random);
    let log = first(&spec, transfer(1_000, 1), pe, pes + 1, io(to, 500, 0.0));
    let passed = worm(apart(pe, machine.pe_of(1)), REQUEST + 500)
        + worm(apart(machine.pe_of(1), machine.pe_of(by)), REQUEST + 500);
    assert_eq!(log.completed, [(0, passed + ACCESS, passed + ACCESS)]);
    // Its data began to be on their way a start-up after it was handed over.
    assert_eq!(log.packets, [(0, pe, pes + 1, 500, passed - STARTUP)]);
    assert_eq!(log.stored, [(0, pe, 500)]);
}

/// Two units at once: the second finds the one lane of the only link taken until the tail of the first has
/// left its buffer, L - 1 cycles after the head came and one in which it is granted; on its own it asks a
/// cycle after its start, having crossed the lane beside.
#[test]
fn units_under_way_share_the_lanes() {
    let spec = HypercubeSpec::paper(3, 1);
    let unit = 100;
    let two = io(Targets::HotNode(1), 2 * unit, 0.0);
    let log = first(&spec, transfer(unit, 2), 0, 1, two.clone());
    let (one, both) = (worm(3, unit), worm(3, unit) + unit);
    assert_eq!(log.completed, [(0, both, both)]);
    let latencies: Vec<Cycles> = log.packets.iter().map(|&(.., latency)| latency).collect();
    assert_eq!(latencies, [one - STARTUP, both - STARTUP]);
    // One after another each has its own start-up.
    let log = first(&spec, transfer(unit, 1), 0, 1, two);
    assert_eq!(log.completed, [(0, 2 * one, 2 * one)]);
}

/// An all-reduce round a ring of neighbours: 2 (n - 1) steps with an n-th of the vector, none in another's
/// way.
#[test]
fn phases_of_an_all_reduce_by_hand() {
    let spec = HypercubeSpec::paper(3, 0);
    let reduce = Traffic::AllReduce {
        vector: Bytes::new(4_000),
        algorithm: AllReduce::Ring,
        pause: Time::ZERO,
    };
    // Each differs from the next in one dimension.
    let gray = vec![0, 1, 3, 2];
    let mut log = Log {
        enough: Some(24),
        ..Log::default()
    };
    simulation(&spec, transfer(1 << 20, 8), &one_job(reduce, gray, 1))
        .run_until(&mut log, Cycles::MAX);
    let round = 6 * worm(3, 1_000);
    assert_eq!(log.phases, [(0, 0, round)]);
}

/// Writes at times of their own, 200 kB/s of each PE.
fn open(bytes: u64) -> Traffic {
    Traffic::Io(Io {
        targets: Targets::Servers(Destinations::Random),
        read_ratio: 0.0,
        sizes: Sizes {
            mean: Bytes::new(bytes),
            spread: Spread::Exponential,
        },
        arrivals: Arrivals::Open {
            load: Bandwidth::from_bits_per_s(1_600_000),
            gaps: Spread::Exponential,
        },
    })
}

/// Machines with faults, and jobs that write, read and send to one another on them.
fn case(draws: &mut Draws) -> (HypercubeSpec, Transfer, JobsTraffic) {
    let dimension = 3 + draws.below(3);
    let mut spec = HypercubeSpec::paper(dimension, draws.below(3));
    spec.lanes = Lanes {
        pe: 1 + draws.below(4),
        io_node: 1 + draws.below(4),
        ..spec.lanes
    };
    if draws.below(2) == 0 {
        spec.placement = PlacementSpec::Stride {
            count: 2 << draws.below(2),
        };
    }
    if draws.below(2) == 0 {
        spec.faults = FaultSpec {
            pes: vec![draws.below(1 << dimension)],
            io_nodes: vec![draws.below(2)],
            ..FaultSpec::default()
        };
    }
    if Machine::new(&spec).is_err() {
        // Too little is left.
        spec.faults = FaultSpec::default();
    }
    let machine = Machine::new(&spec).unwrap();
    let live: Vec<u32> = (machine.cube().nodes())
        .filter(|&pe| machine.is_alive(pe))
        .collect();
    let half = live.len() / 2;
    let bytes = 1 + u64::from(draws.below(3_000));
    let reads = f64::from(draws.below(3)) / 2.0;
    let servers = Targets::Servers(Destinations::Random);
    let mut jobs = vec![
        job("io", io(servers, bytes, reads), live[..half].to_vec()),
        job(
            "exchange",
            Traffic::AllToAll {
                message: Bytes::new(1 + u64::from(draws.below(600))),
                pause: Time::from_us(u64::from(draws.below(100))),
            },
            live[half..half + 3].to_vec(),
        ),
        job(
            "save",
            Traffic::Checkpoint {
                period: Time::from_us(3_000),
                volume: Bytes::new(2_000),
                message: Bytes::new(900),
                destinations: Destinations::Blocked,
            },
            live[half + 3..].to_vec(),
        ),
    ];
    for job in &mut jobs {
        job.outstanding = Outstanding::AtMost(1 + draws.below(3));
    }
    if draws.below(2) == 0 {
        jobs[2] = job("open", open(900), live[half + 3..].to_vec());
        jobs[2].outstanding = Outstanding::Unlimited;
    }
    let traffic = JobsTraffic {
        serve: Serve::All,
        storage: match draws.below(3) {
            0 => cache(0.5, true),
            1 => cache(0.5, false),
            _ => StorageSpec::None,
        },
        servers: Servers::Apart {
            count: machine.placement().io_node_count(),
        },
        mapping: Mapping::Dedicated,
        jobs,
    };
    let unit = 1 + u64::from(draws.below(1_000));
    (spec, transfer(unit, 1 + draws.below(4)), traffic)
}

/// What happens does not depend on where a run is interrupted, every message that completes has brought each
/// of its bytes, and none is lost.
#[test]
fn whole_and_in_pieces() {
    let mut draws = Draws(Streams::new(11, 0).stream("pieces", 0));
    let (mut messages, mut stored, mut opened) = (0, 0, 0);
    for number in 0..CASES {
        let (spec, transfer, traffic) = case(&mut draws);
        let until = 400_000;
        let mut whole = Log::default();
        simulation(&spec, transfer, &traffic).run_until(&mut whole, until);
        let mut pieces = Log::default();
        let mut simulation = simulation(&spec, transfer, &traffic);
        while simulation.now() < until {
            let next = simulation.now() + 1 + Cycles::from(draws.below(5_000));
            assert!(simulation.run_until(&mut pieces, next.min(until)));
        }
        assert_eq!(whole.completed, pieces.completed, "case {number}");
        assert_eq!(whole, pieces, "case {number}");
        let of_job = |job: u32| whole.packets.iter().filter(move |packet| packet.0 == job);
        let longest = transfer.unit.get();
        assert!(
            whole
                .packets
                .iter()
                .all(|&(.., bytes, _)| 0 < bytes && bytes <= longest)
        );
        let Traffic::Io(io) = &traffic.jobs[0].traffic else {
            panic!("the first reads and writes");
        };
        // What is under way has brought part of its data.
        let done = whole.completed.iter().filter(|&&(job, ..)| job == 0);
        let (count, size) = (done.count() as u64, io.sizes.mean.get());
        let data: u64 = of_job(0).map(|&(.., bytes, _)| bytes).sum();
        let limit = traffic.jobs[0].outstanding.limit().unwrap();
        let clients = u64::from(limit) * traffic.jobs[0].nodes_listed();
        assert!(
            count * size <= data && data <= (count + clients) * size,
            "case {number}: {data} B of {count} messages of {size} B"
        );
        let open = traffic.jobs[2].outstanding == Outstanding::Unlimited;
        let others = whole.completed.iter().filter(|&&(job, ..)| job == 2);
        // More than the first of each PE.
        let nodes = traffic.jobs[2].nodes_listed();
        opened += usize::from(open && others.count() as u64 > nodes);
        messages += whole.completed.len();
        stored += whole.stored.len();
        assert!(whole.stored.is_empty() || traffic.storage.is_some());
    }
    assert!(opened > CASES as usize / 8, "{opened} open loops");
    assert!(
        messages > 20 * CASES as usize && stored > CASES as usize,
        "{messages}, {stored}"
    );
}

trait NodesListed {
    fn nodes_listed(&self) -> u64;
}

impl NodesListed for Job {
    fn nodes_listed(&self) -> u64 {
        match &self.nodes {
            JobNodes::Listed(nodes) => nodes.len() as u64,
            _ => 0,
        }
    }
}

/// Completions of PEs' demands.
#[derive(Default)]
struct Demands {
    completed: u64,
    response: u64,
}

impl hypercube::Observer for Demands {
    fn offered(&mut self, _: Flow, _: Cycles) {}

    fn arrived(&mut self, _: &Leg) {}

    fn completed(&mut self, completed: &hypercube::Completed) {
        assert!(matches!(
            completed.operation,
            Operation::Read | Operation::Write
        ));
        self.completed += 1;
        self.response += completed.response;
    }

    fn finished(&self) -> bool {
        false
    }
}

/// The same work in two vocabularies: all PEs read blocks one after another, from any I/O node, whose one
/// disk queues. What they get and how long they wait is the same but for the draws.
#[test]
fn closed_loops_get_what_demands_of_pes_get() {
    let mut spec = HypercubeSpec::paper(5, 2);
    spec.device.service = Service::Queue;
    spec.device.cache_hit_rate = 0.8;
    let machine = Arc::new(Machine::new(&spec).unwrap());
    let (pes, io_nodes) = (
        machine.cube().node_count(),
        machine.placement().io_node_count(),
    );
    let demands = TrafficSpec {
        arrival: Arrival::Closed {
            think: Time::ZERO,
            outstanding: 1,
        },
        outstanding: Outstanding::Unlimited,
        io_probability: 1.0,
        read_ratio: 1.0,
        locality: 1.0 / f64::from(io_nodes),
        message: Bytes::new(32),
        request: Bytes::new(REQUEST),
        block: Bytes::new(4_096),
        file_blocks_min: 1,
        file_blocks_max: 1,
        file_blocks_split: 32,
        layout: FileLayout::Contiguous,
        hot_pe: None,
        hot_io_node: None,
        collectives: Collectives::default(),
    };
    let until = 600_000_000;
    let mut by_demands = Demands::default();
    Simulation::new(machine, &demands, 3, 0).run_until(&mut by_demands, until);

    let servers = Targets::Servers(Destinations::Random);
    let mut jobs = one_job(io(servers, 4_096, 1.0), (0..pes).collect(), io_nodes);
    jobs.storage = cache(0.8, true);
    let mut by_jobs = Log::default();
    simulation(&spec, transfer(4_096, 1), &jobs).run_until(&mut by_jobs, until);

    let rate = by_jobs.completed.len() as f64 / by_demands.completed as f64;
    let response: Cycles = by_jobs
        .completed
        .iter()
        .map(|&(_, response, _)| response)
        .sum();
    let mean = response as f64 / by_jobs.completed.len() as f64;
    let other = by_demands.response as f64 / by_demands.completed as f64;
    assert!(by_demands.completed > 40_000, "{}", by_demands.completed);
    assert!((rate - 1.0).abs() < 0.03, "{rate} as many");
    assert!(
        (mean / other - 1.0).abs() < 0.03,
        "{mean} for {other} cycles"
    );
}

/// Each PE writes and reads what it asks for, and all of it is reported once: checkpoints are over long before the
/// next, and every write is stored whole.
#[test]
fn what_is_sent_arrives_once() {
    for (worms, unit) in [(1, 1_000), (3, 256), (64, 100)] {
        let spec = HypercubeSpec::paper(4, 1);
        let save = Traffic::Checkpoint {
            period: Time::from_us(1_000_000),
            volume: Bytes::new(10_000),
            message: Bytes::new(700),
            destinations: Destinations::Random,
        };
        let io_nodes = Machine::new(&spec).unwrap().placement().io_node_count();
        let mut traffic = one_job(save, (0..6).collect(), io_nodes);
        traffic.jobs[0].outstanding = Outstanding::AtMost(2);
        let mut log = Log::default();
        simulation(&spec, transfer(unit, worms), &traffic).run_until(&mut log, 19_000_000);
        assert_eq!(log.offered, 6 * 15);
        assert_eq!(log.completed.len(), 6 * 15);
        assert_eq!(log.phases.len(), 1);
        let (mut sent, mut stored) = ([0; 6], [0; 6]);
        for &(_, from, to, bytes, _) in &log.packets {
            assert!(to >= 16);
            sent[from as usize] += bytes;
        }
        for &(_, client, bytes) in &log.stored {
            stored[client as usize] += bytes;
        }
        assert_eq!((sent, stored), ([10_000; 6], [10_000; 6]));
        // 14 messages of 700 B and one of 200 B, each in as many units as it fills.
        let units = 14 * 700u64.div_ceil(unit) + 200u64.div_ceil(unit);
        assert_eq!(log.packets.len() as u64, 6 * units);
    }
}
