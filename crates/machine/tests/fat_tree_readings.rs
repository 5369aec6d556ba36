//! How much the readings of ages and of links matter (the table of the guide's page on fat trees): what a
//! 64-node tree accepts of uniform traffic, with cut-through and with circuits, and how a hot node is
//! shared, with circuits.
//!
//! Four replications each; "±" is half of the 95% interval of Student's t with three degrees of freedom.

use isthmus_machine::fattree::Machine;
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::jobs::{Completed, Observer, Packet, Replication as _};
use isthmus_machine::packets::Simulation;
use isthmus_machine::packets::spec::{
    AgeFrom, AgeTie, LinkLoad, LinkTie, NetworkSpec, Nic, Readings, Switching,
};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::{
    Arrivals, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers, Sizes, Spread, Targets,
    Traffic,
};
use isthmus_workload::storage::StorageSpec;
use std::sync::Arc;

const REPLICATIONS: u64 = 4;

/// Quantile of Student's t for them at 97.5%.
const T: f64 = 3.182;

/// The QsNET paper's network, ages saturating at 78 us.
fn qsnet(readings: Readings) -> FatTreeSpec {
    let mut tree = FatTreeSpec::qsnet(3);
    tree.network.readings = readings;
    tree
}

/// One channel, input buffers of four packets, no host: a packet takes a link for 0.805 us.
fn cut_through(readings: Readings) -> FatTreeSpec {
    let qsnet = qsnet(readings);
    FatTreeSpec {
        network: NetworkSpec {
            virtual_channels: 1,
            switching: Switching::CutThrough {
                buffer: 4,
                credit: Time::from_ns(5),
                output_buffer: 0,
                speedup: 1,
            },
            switch_latency: Time::from_ns(5),
            nic: Nic {
                overhead: Bytes::new(2),
                dma_period: Time::from_ns(800),
                receive_delay: Time::ZERO,
                software_latency: Time::ZERO,
                ..qsnet.network.nic
            },
            ..qsnet.network
        },
        ..qsnet
    }
}

fn sizes(mean: u64) -> Sizes {
    Sizes {
        mean: Bytes::new(mean),
        spread: Spread::Fixed,
    }
}

fn one_job(traffic: Traffic, outstanding: Outstanding) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        servers: Servers::None,
        storage: StorageSpec::None,
        mapping: Mapping::Shared,
        jobs: vec![Job {
            name: "job".to_owned(),
            nodes: JobNodes::All,
            traffic,
            active: true,
            outstanding,
        }],
    }
}

/// Bytes by the node that sent them.
struct Sent(Vec<u64>);

impl Observer for Sent {
    fn offered(&mut self, _: u32) {}
    fn packet(&mut self, packet: &Packet) {
        self.0[packet.from as usize] += packet.bytes;
    }
    fn completed(&mut self, _: &Completed) {}
    fn finished(&self) -> bool {
        false
    }
}

/// MB/s that each node sends after the first `warm_us`.
fn sent(spec: &FatTreeSpec, traffic: &JobsTraffic, warm_us: u64, us: u64, seed: u64) -> Vec<f64> {
    let machine = Arc::new(Machine::new(spec).unwrap());
    let nodes = machine.tree().node_count();
    let layout = Layout::new(traffic, nodes).unwrap();
    let mut simulation = Simulation::new(
        machine.network(),
        machine.routes(),
        traffic,
        &layout,
        7,
        seed,
    )
    .unwrap();
    let mut seen = Sent(vec![0; nodes as usize]);
    simulation.run_until(&mut seen, machine.network().ticks(Time::from_us(warm_us)));
    seen.0.fill(0);
    simulation.run_until(
        &mut seen,
        machine.network().ticks(Time::from_us(warm_us + us)),
    );
    seen.0
        .iter()
        .map(|&bytes| bytes as f64 / us as f64)
        .collect()
}

/// Mean and half of the interval over replications.
fn measured(of: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (0..REPLICATIONS).map(of).collect();
    let count = REPLICATIONS as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>();
    (mean, T * (squares / (count - 1.0) / count).sqrt())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Share of what links carry, MB/s for each node, and MB/s for each of the three nodes beside a hot one
/// and for each of the 48 that are farthest.
fn measure(readings: Readings) -> [(f64, f64); 4] {
    let carried = 400.0 * 320.0 / 322.0;
    let open = Traffic::Uniform {
        sizes: sizes(320),
        arrivals: Arrivals::Open {
            load: Bandwidth::from_mb_per_s(400),
            gaps: Spread::Exponential,
        },
    };
    let open = one_job(open, Outstanding::Unlimited);
    let closed = Arrivals::equal_pauses(Time::ZERO);
    let uniform = Traffic::Uniform {
        sizes: sizes(16_000),
        arrivals: closed,
    };
    let uniform = one_job(uniform, Outstanding::ONE);
    let hot = Traffic::Io(Io {
        targets: Targets::HotNode(0),
        read_ratio: 0.0,
        sizes: sizes(1_000_000),
        arrivals: closed,
    });
    let hot = one_job(hot, Outstanding::ONE);
    let hot_shares = |seed, nodes: std::ops::Range<usize>| {
        mean(&sent(&qsnet(readings), &hot, 30_000, 60_000, seed)[nodes])
    };
    [
        measured(|seed| mean(&sent(&cut_through(readings), &open, 100, 600, seed)) / carried),
        measured(|seed| mean(&sent(&qsnet(readings), &uniform, 500, 2_000, seed))),
        measured(|seed| hot_shares(seed, 1..4)),
        measured(|seed| hot_shares(seed, 16..64)),
    ]
}

type Row = (&'static str, Readings, [f64; 4]);

fn check(rows: &[Row]) {
    for &(name, readings, expected) in rows {
        // Thrice the intervals at least: other seeds would do as well.
        for ((value, _), (expected, most)) in measure(readings)
            .into_iter()
            .zip(expected.into_iter().zip([0.02, 8.0, 0.3, 0.2]))
        {
            assert!(
                (value - expected).abs() < most,
                "{name}: {value}, expected {expected}"
            );
        }
    }
}

#[test]
fn readings_of_ages_matter_as_much_as_the_guide_says() {
    let usual = Readings::default();
    let from = |age_from| Readings { age_from, ..usual };
    let age_tie = |age_tie| Readings { age_tie, ..usual };
    check(&[
        ("defaults", usual, [0.616, 142.0, 7.9, 4.8]),
        (
            "age_from message",
            from(AgeFrom::Message),
            [0.586, 145.0, 48.2, 2.3],
        ),
        (
            "age_from arrival",
            from(AgeFrom::Arrival),
            [0.599, 142.0, 48.4, 2.3],
        ),
        (
            "age_from request",
            from(AgeFrom::Request),
            [0.584, 142.0, 48.4, 2.3],
        ),
        (
            "age_tie random",
            age_tie(AgeTie::Random),
            [0.615, 143.0, 7.4, 5.2],
        ),
        (
            "age_tie lowest",
            age_tie(AgeTie::Lowest),
            [0.612, 144.0, 8.0, 5.1],
        ),
    ]);
}

#[test]
fn readings_of_links_matter_as_little_as_the_guide_says() {
    let links = |load, tie| {
        let mut readings = Readings::default();
        (readings.adaptive.load, readings.adaptive.tie) = (load, tie);
        readings
    };
    check(&[
        (
            "ascent_tie longest-idle",
            links(LinkLoad::Room, LinkTie::LongestIdle),
            [0.614, 143.0, 7.9, 4.8],
        ),
        (
            "ascent_tie lowest",
            links(LinkLoad::Room, LinkTie::Lowest),
            [0.614, 144.0, 7.9, 4.8],
        ),
        (
            "ascent_load idle",
            links(LinkLoad::Idle, LinkTie::Random),
            [0.613, 143.0, 7.9, 4.8],
        ),
        (
            "both idle",
            links(LinkLoad::Idle, LinkTie::LongestIdle),
            [0.614, 143.0, 7.9, 4.8],
        ),
    ]);
}
