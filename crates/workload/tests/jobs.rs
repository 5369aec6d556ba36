//! Jobs on a network that delays every message by a rule of the test.

use isthmus_kernel::{Cycles, Streams};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{
    AllReduce, Arrivals, Destinations, Io, Job, JobNodes, JobsTraffic, Mapping, Serve, Servers,
    Sizes, Spread, Targets, Traffic,
};
use isthmus_workload::jobs::{Demand, JobsSource, Layout, Operation, Partners};
use isthmus_workload::storage::StorageSpec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

const TICK: Time = Time::from_ps(100);

fn job(name: &str, nodes: JobNodes, traffic: Traffic) -> Job {
    Job {
        name: name.to_owned(),
        nodes,
        traffic,
        active: true,
        outstanding: Outstanding::ONE,
    }
}

fn jobs(servers: Servers, mapping: Mapping, jobs: Vec<Job>) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        servers,
        storage: StorageSpec::None,
        mapping,
        jobs,
    }
}

fn io(targets: Targets, arrivals: Arrivals) -> Io {
    Io {
        targets,
        read_ratio: 0.0,
        sizes: Sizes {
            mean: Bytes::new(1_000_000),
            spread: Spread::Exponential,
        },
        arrivals,
    }
}

const CLOSED: Arrivals = Arrivals::equal_pauses(Time::ZERO);
const RANDOM: Targets = Targets::Servers(Destinations::Random);

fn source(traffic: &JobsTraffic, nodes: u32) -> JobsSource {
    let layout = Layout::new(traffic, nodes).unwrap_or_else(|error| panic!("{error}"));
    JobsSource::new(traffic, &layout, TICK, Streams::new(5, 0))
}

/// All demands until `until`, in the order of their times: each comes in `delay` after it began,
/// and is complete 7 ticks later.
fn run(
    source: &mut JobsSource,
    until: Cycles,
    delay: impl FnMut(&Demand) -> Cycles,
    at: impl FnMut(&mut JobsSource, Cycles),
) -> Vec<Demand> {
    run_reporting(source, until, delay, at, false)
}

/// The same; with `ahead`, completions are reported as soon as they are certain, where that is allowed.
fn run_reporting(
    source: &mut JobsSource,
    until: Cycles,
    mut delay: impl FnMut(&Demand) -> Cycles,
    mut at: impl FnMut(&mut JobsSource, Cycles),
    ahead: bool,
) -> Vec<Demand> {
    let (mut all, mut fresh) = (Vec::new(), Vec::new());
    let mut events: BinaryHeap<Reverse<(Cycles, usize, u8)>> = BinaryHeap::new();
    source.begin(&mut fresh);
    loop {
        for demand in fresh.drain(..) {
            events.push(Reverse((demand.time, all.len(), 0)));
            all.push(demand);
        }
        let Some(Reverse((now, number, stage))) = events.pop() else {
            break;
        };
        if now >= until {
            break;
        }
        at(source, now);
        let demand = all[number];
        match stage {
            0 => {
                events.push(Reverse((now + delay(&demand), number, 1)));
                if source.several(demand.process) {
                    source.handed(now, &demand, &mut fresh);
                }
            }
            1 => {
                if ahead && !source.in_order(demand.process) {
                    source.completed(now + 7, &demand, &mut fresh);
                } else {
                    events.push(Reverse((now + 7, number, 2)));
                }
                if demand.operation == Operation::Write {
                    source.arrived(now, &demand, &mut fresh);
                }
            }
            _ => source.completed(now, &demand, &mut fresh),
        }
        assert!(
            fresh
                .iter()
                .all(|next| next.time >= now && next.asked <= next.time)
        );
    }
    all.retain(|demand| demand.time < until);
    all.sort_by_key(|demand| (demand.time, demand.process));
    all
}

fn nothing(_: &mut JobsSource, _: Cycles) {}

/// An open loop of mean size m at load L asks every m / L: 1 MB at 100 MB/s every 10 ms.
#[test]
fn open_loops_keep_their_load() {
    for gaps in [Spread::Exponential, Spread::Uniform, Spread::Fixed] {
        let load = Bandwidth::from_mb_per_s(100);
        let traffic = jobs(
            Servers::Clustered { count: 2 },
            Mapping::Dedicated,
            vec![job(
                "io",
                JobNodes::All,
                Traffic::Io(io(RANDOM, Arrivals::Open { load, gaps })),
            )],
        );
        let mut source = source(&traffic, 10);
        let until = 100_000_000_000; // 10 s
        let all = run(&mut source, until, |_| 50, nothing);
        // 8 processes, 1000 messages each, variance of a count at most its mean (Poisson).
        let (n, bytes) = (
            all.len() as f64,
            all.iter().map(|d| d.bytes as f64).sum::<f64>(),
        );
        assert!((n - 8_000.0).abs() < 4.0 * 8_000f64.sqrt(), "{gaps:?} {n}");
        // Sizes are exponential: the standard error of their mean is m / sqrt(n).
        assert!((bytes / n / 1e6 - 1.0).abs() < 4.0 / n.sqrt(), "{gaps:?}");
        let asked: u64 = (0..8).map(|process| source.asked_by(process, until)).sum();
        assert!(asked.abs_diff(all.len() as u64) <= 8);
    }
}

/// What waits for its turn keeps the time at which it was asked for.
#[test]
fn a_slow_network_leaves_messages_waiting() {
    let load = Bandwidth::from_mb_per_s(100);
    let gaps = Spread::Fixed;
    let traffic = jobs(
        Servers::Clustered { count: 1 },
        Mapping::Dedicated,
        vec![job(
            "io",
            JobNodes::All,
            Traffic::Io(io(RANDOM, Arrivals::Open { load, gaps })),
        )],
    );
    let mut slow = source(&traffic, 2);
    // Every 100 ms instead of every 10.
    let all = run(&mut slow, 50_000_000_000, |_| 1_000_000_000 - 7, nothing);
    for (k, demand) in all.iter().enumerate() {
        assert_eq!(demand.asked, all[0].asked + k as u64 * 100_000_000);
        assert_eq!(demand.time, all[0].asked + k as u64 * 1_000_000_000);
    }
    // A phase within a gap, then one every 10 ms in 5 s.
    assert_eq!(slow.asked_by(0, 50_000_000_000 - 1), 500);
    assert_eq!(all.len(), 50);
}

/// Looking at the queue of an open loop changes nothing of what follows.
#[test]
fn counting_draws_nothing_that_others_would_have_drawn() {
    let load = Bandwidth::from_mb_per_s(250);
    let gaps = Spread::Exponential;
    let mut open = io(RANDOM, Arrivals::Open { load, gaps });
    open.read_ratio = 0.5;
    let traffic = jobs(
        Servers::Distributed {
            count: 2,
            stride: None,
            offset: 1,
        },
        Mapping::Shared,
        vec![job("io", JobNodes::All, Traffic::Io(open))],
    );
    let delay = |demand: &Demand| demand.bytes * 30;
    let until = 10_000_000_000;
    let unseen = run(&mut source(&traffic, 8), until, delay, nothing);
    let mut last = 0;
    let seen = run(&mut source(&traffic, 8), until, delay, |source, now| {
        let asked = (0..8).map(|process| source.asked_by(process, now)).sum();
        assert!(asked >= last);
        last = asked;
    });
    assert_eq!(unseen, seen);
    let handed = seen.iter().filter(|demand| demand.asked < until).count() as u64;
    assert!(last >= handed - 8 && handed > 200);
}

/// Pauses of a mean of 20,000 ticks: C^2 is 0, 1 and 1/3. With 5,000 or more of them their mean is known to
/// 1.4% of itself and their C^2 to 0.04 (exponential: sqrt(8 / n)); four times that is allowed.
#[test]
fn closed_loops_pause_as_described() {
    for (spread, scv) in [
        (Spread::Fixed, 0.0),
        (Spread::Exponential, 1.0),
        (Spread::Uniform, 1.0 / 3.0),
    ] {
        let demands = of_loops(spread, 1);
        let ends = demands.iter().map(|demand| demand.time + took(demand) + 7);
        let next = demands[1..].iter().map(|demand| demand.time);
        let pauses: Vec<f64> = next
            .zip(ends)
            .map(|(next, end)| (next - end) as f64)
            .collect();
        let n = pauses.len() as f64;
        let mean = pauses.iter().sum::<f64>() / n;
        let squares: f64 = pauses.iter().map(|pause| (pause - mean).powi(2)).sum();
        let found = squares / n / mean.powi(2);
        assert!(n > 5_000.0, "{n}");
        assert!((mean / 20_000.0 - 1.0).abs() < 0.056, "{spread:?} {mean}");
        assert!((found - scv).abs() < 0.16, "{spread:?} {found}");
    }
}

fn took(demand: &Demand) -> Cycles {
    60 + demand.bytes % 40
}

/// What one client asks for that keeps so many messages going. What it has asked for by a time is
/// counted right, though a message may be asked for before one that is known earlier.
fn of_loops(spread: Spread, most: u32) -> Vec<Demand> {
    let think = Time::from_us(2);
    let pauses = Arrivals::Closed { think, spread };
    let traffic = Traffic::Io(io(RANDOM, pauses));
    let mut loops = job("io", JobNodes::Listed(vec![0]), traffic);
    loops.outstanding = Outstanding::AtMost(most);
    let servers = Servers::Clustered { count: 2 };
    let described = jobs(servers, Mapping::Dedicated, vec![loops]);
    let mut counts = Vec::new();
    let demands = run(
        &mut source(&described, 8),
        120_000_000,
        took,
        |source, now| {
            counts.push((now, source.asked_by(0, now)));
        },
    );
    let mut asked: Vec<Cycles> = demands.iter().map(|demand| demand.asked).collect();
    asked.sort_unstable();
    for (now, count) in counts {
        let before = asked.partition_point(|&asked| asked < now) as u64;
        let by_then = asked.partition_point(|&asked| asked <= now) as u64;
        assert!(
            (before..=by_then).contains(&count),
            "{spread:?} {now} {count}"
        );
    }
    demands
}

#[test]
fn pauses_that_overtake_others_are_counted_in_order() {
    let demands = of_loops(Spread::Exponential, 4);
    assert!(demands.len() > 20_000, "{}", demands.len());
}

/// Section 3.5 of the QsNET paper: one blocking message at a time, to any other node of the job.
#[test]
fn compute_jobs_send_to_each_other_node_alike() {
    let arrivals = Arrivals::equal_pauses(Time::from_us(2));
    let sizes = Sizes {
        mean: Bytes::new(262_144),
        spread: Spread::Fixed,
    };
    let traffic = jobs(
        Servers::None,
        Mapping::Shared,
        vec![job(
            "compute",
            JobNodes::Listed(vec![9, 2, 4, 7, 30]),
            Traffic::Uniform { sizes, arrivals },
        )],
    );
    let all = run(&mut source(&traffic, 32), 1_000_000_000, |_| 73, nothing);
    let mut pairs: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let mut last: BTreeMap<u32, Cycles> = BTreeMap::new();
    for demand in &all {
        assert_eq!(
            (demand.bytes, demand.operation),
            (262_144, Operation::Write)
        );
        if let Some(last) = last.insert(demand.process, demand.time) {
            // 73 ticks under way, 7 to be acknowledged, 20,000 of pause.
            assert_eq!(demand.time, last + 20_080);
        }
        *pairs.entry((demand.from, demand.to)).or_default() += 1;
    }
    assert_eq!(pairs.len(), 5 * 4);
    let mean = all.len() as f64 / 20.0;
    // Chi-squared with 15 degrees of freedom: mean 15, standard deviation 5.5.
    let chi2: f64 = pairs
        .values()
        .map(|&n| (f64::from(n) - mean).powi(2) / mean)
        .sum();
    assert!(chi2 < 15.0 + 4.0 * 5.5, "{chi2}");
}

#[test]
fn clients_that_are_servers_write_to_the_others() {
    let mut reads = io(RANDOM, CLOSED);
    reads.read_ratio = 0.25;
    let traffic = jobs(
        Servers::Clustered { count: 4 },
        Mapping::Shared,
        vec![job("io", JobNodes::All, Traffic::Io(reads))],
    );
    let all = run(&mut source(&traffic, 8), 2_000_000, |_| 93, nothing);
    let mut to: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for demand in &all {
        assert!(demand.to >= 4 && demand.to != demand.from);
        *to.entry((demand.from, demand.to)).or_default() += 1.0;
    }
    assert_eq!(to.len(), 4 * 4 + 4 * 3);
    // 20,000 messages for each process.
    for ((from, _), count) in &to {
        let expected = if *from < 4 { 5_000.0 } else { 20_000.0 / 3.0 };
        assert!(
            (count - expected).abs() < 5.0 * f64::sqrt(expected),
            "{count} {expected}"
        );
    }
    let (n, reads) = (
        all.len() as f64,
        all.iter().filter(|d| d.operation == Operation::Read),
    );
    assert!((reads.count() as f64 / n - 0.25).abs() < 4.0 * (0.25f64 * 0.75 / n).sqrt());
}

/// Jobs can be compared alone and together: what one asks for does not depend on the others.
#[test]
fn a_job_asks_for_the_same_alone_and_beside_others() {
    let load = Bandwidth::from_mb_per_s(30);
    let gaps = Spread::Exponential;
    let open = Traffic::Io(io(RANDOM, Arrivals::Open { load, gaps }));
    let mut traffic = jobs(
        Servers::Clustered { count: 2 },
        Mapping::Shared,
        vec![
            job(
                "compute",
                JobNodes::Part { part: 1, of: 2 },
                Traffic::AllToAll {
                    message: Bytes::new(100),
                    pause: Time::ZERO,
                },
            ),
            job("io", JobNodes::Part { part: 2, of: 2 }, open),
        ],
    );
    let until = 5_000_000_000;
    let of_io = |traffic: &JobsTraffic| {
        let mut all = run(&mut source(traffic, 16), until, |_| 1_000_000, nothing);
        all.retain(|demand| demand.job == 1);
        for demand in &mut all {
            demand.process = 0;
        }
        all.sort_by_key(|demand| (demand.time, demand.from));
        all
    };
    let together = of_io(&traffic);
    traffic.jobs[0].active = false;
    let layout = Layout::new(&traffic, 16).expect("it fits");
    assert_eq!(layout.jobs[0].len(), 8);
    assert_eq!(together, of_io(&traffic));
    assert!(together.len() > 50);
    traffic.jobs[1].active = false;
    assert!(source(&traffic, 16).processes().is_empty());
}

/// A delay that differs from message to message, without an order.
fn uneven(demand: &Demand) -> Cycles {
    let key = u64::from(demand.from) * 131 + u64::from(demand.to) * 31 + demand.step * 7;
    20 + key.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 977
}

/// No rank starts a step before all messages of its last one are sent and have come in. All messages
/// of all steps are sent, even if some ranks are late.
#[test]
fn collectives_advance_with_what_comes_in() {
    let mut steps_seen = 0;
    for ranks in [2u32, 3, 4, 6, 7, 8, 12] {
        let pause = Time::from_ns(30);
        let message = Bytes::new(64);
        let vector = Bytes::new(100);
        let reduce = |algorithm| Traffic::AllReduce {
            vector,
            algorithm,
            pause,
        };
        let kinds = [
            (
                Traffic::AllToAll { message, pause },
                u64::from(ranks - 1),
                64,
            ),
            (
                reduce(AllReduce::Ring),
                2 * u64::from(ranks - 1),
                100u64.div_ceil(ranks.into()),
            ),
            (
                reduce(AllReduce::RecursiveDoubling),
                u64::from(ranks.ilog2()) + if ranks.is_power_of_two() { 0 } else { 2 },
                100,
            ),
            (
                Traffic::Neighbours {
                    grid: vec![ranks],
                    wrap: true,
                    message,
                    pause,
                },
                1,
                64,
            ),
        ];
        for (traffic, steps, bytes) in kinds {
            let jobs = jobs(
                Servers::None,
                Mapping::Dedicated,
                vec![job(
                    "c",
                    JobNodes::Listed((0..ranks).rev().collect()),
                    traffic.clone(),
                )],
            );
            let mut arrivals: BTreeMap<(u32, u64), Vec<Cycles>> = BTreeMap::new();
            let all = run(&mut source(&jobs, ranks), 300_000, uneven, nothing);
            for demand in &all {
                assert_eq!(demand.bytes, bytes);
                let came_in = demand.time + uneven(demand);
                arrivals
                    .entry((demand.to, demand.step))
                    .or_default()
                    .push(came_in);
            }
            let mut per_step: BTreeMap<u64, usize> = BTreeMap::new();
            for demand in &all {
                *per_step.entry(demand.step).or_default() += 1;
                // Everything of earlier steps for this node came in before.
                for step in demand.step.saturating_sub(steps)..demand.step {
                    let earlier = arrivals.get(&(demand.from, step));
                    assert!(
                        earlier
                            .into_iter()
                            .flatten()
                            .all(|&time| time <= demand.time)
                    );
                }
                let ends = demand.step.is_multiple_of(steps) && demand.step > 0;
                let last = arrivals.get(&(demand.from, demand.step.wrapping_sub(1)));
                if let Some(last) = last.filter(|_| ends).and_then(|times| times.iter().max()) {
                    assert!(demand.time >= last + 300, "a pause of 30 ns between rounds");
                }
            }
            let complete = per_step.len() as u64 / steps - 2;
            assert!(complete > 5, "{traffic:?} of {ranks}: {complete} rounds");
            for step in 0..complete * steps {
                assert_eq!(
                    per_step[&step],
                    per_step[&(step % steps)],
                    "{traffic:?} {step}"
                );
            }
            steps_seen += per_step.len();
        }
    }
    println!("{steps_seen} steps of collective operations");
}

#[test]
fn checkpoints_are_written_piece_by_piece() {
    let traffic = jobs(
        Servers::Clustered { count: 2 },
        Mapping::Dedicated,
        vec![job(
            "checkpoint",
            JobNodes::All,
            Traffic::Checkpoint {
                period: Time::from_us(1_000),
                volume: Bytes::new(2_500),
                message: Bytes::new(1_000),
                destinations: Destinations::Interleaved,
            },
        )],
    );
    let mut fast = source(&traffic, 6);
    let until = 100_000_000; // 10 ms
    let all = run(&mut fast, until, |_| 993, nothing);
    assert_eq!(all.len(), 4 * 10 * 3);
    for (k, demand) in all.iter().filter(|demand| demand.from == 3).enumerate() {
        let (burst, piece) = (k as u64 / 3, k as u64 % 3);
        assert_eq!(demand.asked, burst * 10_000_000);
        assert_eq!(demand.time, demand.asked + piece * 1_000);
        assert_eq!(demand.bytes, [1_000, 1_000, 500][piece as usize]);
        assert_eq!(demand.to, 5);
    }
    assert_eq!(fast.asked_by(0, until - 1), 30);
    // Four pieces in a period instead of three in no time: the queue grows.
    let mut slow = source(&traffic, 6);
    let handed = run(&mut slow, until, |_| 5_000_000 - 7, nothing).len();
    assert_eq!(handed, 4 * 20);
    assert_eq!(slow.asked_by(2, until - 1), 30);
}

#[test]
fn pings_go_from_each_first_node_to_its_second() {
    let ping = |both_ways| {
        let message = Bytes::new(0);
        let pause = Time::ZERO;
        jobs(
            Servers::None,
            Mapping::Shared,
            vec![job(
                "ping",
                JobNodes::Listed(vec![5, 0, 2, 3]),
                Traffic::Ping {
                    message,
                    both_ways,
                    pause,
                },
            )],
        )
    };
    let pairs = |both_ways| {
        let all = run(&mut source(&ping(both_ways), 6), 100, |_| 93, nothing);
        assert!(all.iter().all(|demand| demand.bytes == 0));
        all.iter()
            .map(|demand| (demand.from, demand.to))
            .collect::<Vec<_>>()
    };
    assert_eq!(pairs(false), [(5, 0), (2, 3)]);
    assert_eq!(pairs(true), [(5, 0), (0, 5), (2, 3), (3, 2)]);
}

/// Ranks, not numbers of nodes, are counted on, and around the end of the list.
#[test]
fn shifted_nodes_send_to_one_other_each() {
    let shift = |offset: u32| {
        let sizes = Sizes {
            mean: Bytes::new(1000),
            spread: Spread::Fixed,
        };
        let traffic = Traffic::Shift {
            offset,
            sizes,
            arrivals: CLOSED,
        };
        let nodes = JobNodes::Listed(vec![7, 2, 5]);
        jobs(
            Servers::None,
            Mapping::Shared,
            vec![job("s", nodes, traffic)],
        )
    };
    for (offset, to) in [(1, [2, 5, 7]), (2, [5, 7, 2]), (7, [2, 5, 7])] {
        let traffic = shift(offset);
        let all = run(&mut source(&traffic, 8), 1_000_000, |_| 500, nothing);
        let pairs: BTreeSet<(u32, u32)> =
            all.iter().map(|demand| (demand.from, demand.to)).collect();
        let expected = [7, 2, 5].into_iter().zip(to);
        assert_eq!(pairs, expected.collect(), "{offset}");
    }
    let error = Layout::new(&shift(6), 8).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an offset of 6 leads each of 3 nodes to itself"
    );
}

#[test]
fn hot_nodes_only_receive() {
    let traffic = jobs(
        Servers::None,
        Mapping::Shared,
        vec![job(
            "hot",
            JobNodes::All,
            Traffic::Io(io(Targets::HotNode(2), CLOSED)),
        )],
    );
    let all = run(&mut source(&traffic, 5), 1_000, |_| 93, nothing);
    assert_eq!(all.len(), 40);
    assert!(all.iter().all(|demand| demand.to == 2 && demand.from != 2));
}

/// Clients exchange data with the partners of the layout, with each as often as with the others.
#[test]
fn partners_are_those_of_the_messages() {
    let mut open = io(
        RANDOM,
        Arrivals::Open {
            load: Bandwidth::from_mb_per_s(400),
            gaps: Spread::Exponential,
        },
    );
    // Small, so that all pairs come up.
    open.sizes.mean = Bytes::new(10_000);
    let mut fixed = open;
    fixed.targets = Targets::Servers(Destinations::Blocked);
    let kinds = [
        Traffic::Io(open),
        Traffic::Io(fixed),
        Traffic::Io(io(Targets::HotNode(3), CLOSED)),
        Traffic::Checkpoint {
            period: Time::from_us(100),
            volume: Bytes::new(5_000),
            message: Bytes::new(1_000),
            destinations: Destinations::Random,
        },
        Traffic::Ping {
            message: Bytes::new(1_000),
            both_ways: true,
            pause: Time::ZERO,
        },
    ];
    let collective = job(
        "a",
        JobNodes::All,
        Traffic::AllToAll {
            message: Bytes::new(1_000),
            pause: Time::ZERO,
        },
    );
    let traffic = jobs(Servers::None, Mapping::Shared, vec![collective]);
    let layout = Layout::new(&traffic, 12).expect("it fits");
    assert!(layout.partners(0, &traffic.jobs[0]).is_empty());
    for kind in kinds {
        let servers = Servers::Listed(vec![1, 5, 7]);
        let traffic = jobs(
            servers,
            Mapping::Shared,
            vec![job("j", JobNodes::All, kind.clone())],
        );
        let layout = Layout::new(&traffic, 12).expect("it fits");
        let mut shares: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for Partners { client, others } in layout.partners(0, &traffic.jobs[0]) {
            let others = others.iter().filter(|&&other| other != client);
            let share = 1.0 / others.clone().count() as f64;
            shares.extend(others.map(|&other| ((client, other), share)));
        }
        let pairs = layout.pairs(0, &traffic.jobs[0]);
        let pairs: BTreeMap<(u32, u32), f64> = pairs
            .map(|pair| ((pair.client, pair.other), 1.0 / pair.of as f64))
            .collect();
        assert_eq!(pairs, shares);
        // 20 ms.
        let all = run(&mut source(&traffic, 12), 200_000_000, |_| 9_993, nothing);
        let mut counts: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let mut of_client: BTreeMap<u32, f64> = BTreeMap::new();
        for demand in &all {
            *counts.entry((demand.from, demand.to)).or_default() += 1.0;
            *of_client.entry(demand.from).or_default() += 1.0;
        }
        assert!(counts.keys().eq(shares.keys()), "{kind:?}");
        for ((from, to), count) in &counts {
            let n = of_client[from];
            let share = shares[&(*from, *to)];
            let margin = 5.0 * (share * (1.0 - share) / n).sqrt() + 1e-9;
            assert!((count / n - share).abs() < margin, "{kind:?} {from} {to}");
        }
    }
}

/// When each message is handed over by the rule alone: in order, when it has been asked for and fewer are
/// under way.
fn by_the_rule(
    of_process: &[&Demand],
    most: usize,
    took: impl Fn(&Demand) -> Cycles,
) -> Vec<Cycles> {
    let (mut ends, mut times): (Vec<Cycles>, Vec<Cycles>) = (Vec::new(), Vec::new());
    for demand in of_process {
        let mut time = demand.asked.max(times.last().copied().unwrap_or(0));
        // The first time from then on at which fewer are under way.
        while ends.iter().filter(|&&end| end > time).count() >= most {
            time = *ends.iter().filter(|&&end| end > time).min().unwrap();
        }
        ends.push(time + took(demand));
        times.push(time);
    }
    times
}

/// Open loops, closed loops and checkpoints with any number under way, against the rule; what is in between
/// counts as interesting: messages that wait, and messages that overtake others on the network.
#[test]
fn as_many_as_may_be_are_under_way_and_no_more() {
    let open = |mb_per_s| Arrivals::Open {
        load: Bandwidth::from_mb_per_s(mb_per_s),
        gaps: Spread::Exponential,
    };
    let uniform = |arrivals| Traffic::Uniform {
        sizes: Sizes {
            mean: Bytes::new(1_000),
            spread: Spread::Exponential,
        },
        arrivals,
    };
    let checkpoint = Traffic::Checkpoint {
        period: Time::from_us(20),
        volume: Bytes::new(7_500),
        message: Bytes::new(1_000),
        destinations: Destinations::Random,
    };
    let think = Arrivals::equal_pauses(Time::from_ns(300));
    // What a message takes differs, so that some overtake others.
    let took = |demand: &Demand| 20_000 + 40 * demand.bytes + (demand.asked * 7919) % 30_000;
    let (mut waited, mut overtook, mut compared) = (0, 0, 0);
    for traffic in [
        uniform(open(150)),
        uniform(open(800)),
        uniform(think),
        checkpoint,
    ] {
        for outstanding in [1, 2, 3, 8, 100]
            .map(Outstanding::AtMost)
            .into_iter()
            .chain([Outstanding::Unlimited])
        {
            let closed = matches!(
                traffic,
                Traffic::Uniform {
                    arrivals: Arrivals::Closed { .. },
                    ..
                }
            );
            if closed && outstanding == Outstanding::Unlimited {
                continue;
            }
            let mut all = job("job", JobNodes::All, traffic.clone());
            all.outstanding = outstanding;
            let described = jobs(
                Servers::Clustered { count: 2 },
                Mapping::Dedicated,
                vec![all],
            );
            let mut source = source(&described, 6);
            let until = 5_000_000;
            let demands = run(&mut source, until, |demand| took(demand) - 7, nothing);
            let mut again = self::source(&described, 6);
            let network = |demand: &Demand| took(demand) - 7;
            let ahead = run_reporting(&mut again, until, network, nothing, true);
            assert_eq!(ahead, demands, "{traffic:?} {outstanding:?}");
            for process in 0..source.processes().len() as u32 {
                let mut own: Vec<&Demand> =
                    demands.iter().filter(|d| d.process == process).collect();
                own.sort_by_key(|demand| (demand.asked, demand.time));
                let most = outstanding.limit().map_or(usize::MAX, |most| most as usize);
                let expected = by_the_rule(&own, most, took);
                let times: Vec<Cycles> = own.iter().map(|demand| demand.time).collect();
                assert_eq!(times, expected, "{traffic:?} {outstanding:?}");
                compared += own.len();
                waited += own
                    .iter()
                    .filter(|demand| demand.time > demand.asked)
                    .count();
                let end = |demand: &Demand| demand.time + took(demand);
                overtook += own
                    .windows(2)
                    .filter(|pair| end(pair[0]) > end(pair[1]))
                    .count();
                let asked = source.asked_by(process, until);
                assert!(asked >= own.len() as u64, "{outstanding:?}");
            }
        }
    }
    println!("{compared} messages, {waited} of them waited, {overtook} overtook others");
    assert!(compared > 5_000 && waited > 500 && overtook > 500);
}

/// With a window of w an all-to-all begins step s + w when one of the steps before it is done; a stencil
/// with a limit of one sends its messages one by one.
#[test]
fn collectives_keep_to_their_limits() {
    let took = |demand: &Demand| 1_000 + (demand.step * 311 + u64::from(demand.from) * 97) % 700;
    let under_way = |traffic: Traffic, outstanding| {
        let mut all = job("job", JobNodes::All, traffic);
        all.outstanding = outstanding;
        let described = jobs(Servers::None, Mapping::Dedicated, vec![all]);
        let mut source = source(&described, 9);
        let demands = run(&mut source, 200_000, |demand| took(demand) - 7, nothing);
        let most = (0..9u32).map(|process| {
            let own = demands.iter().filter(|demand| demand.process == process);
            let times = own.clone().map(|demand| demand.time);
            let open = |time: Cycles| {
                let started = own.clone().filter(|demand| demand.time <= time);
                started
                    .filter(|demand| demand.time + took(demand) > time)
                    .count()
            };
            times.map(open).max().unwrap()
        });
        (most.max().unwrap(), demands.len())
    };
    let exchange = Traffic::AllToAll {
        message: Bytes::new(100),
        pause: Time::ZERO,
    };
    let stencil = Traffic::Neighbours {
        grid: vec![3, 3],
        wrap: true,
        message: Bytes::new(100),
        pause: Time::ZERO,
    };
    for (traffic, all) in [(exchange, 8), (stencil, 4)] {
        let mut before = 0;
        for most in [1, 2, 3] {
            let (seen, messages) = under_way(traffic.clone(), Outstanding::AtMost(most));
            assert_eq!(seen as u32, most, "{traffic:?}");
            assert!(
                messages > before,
                "more under way is faster: {messages}, {before}"
            );
            before = messages;
        }
        let (seen, messages) = under_way(traffic.clone(), Outstanding::Unlimited);
        assert_eq!(seen, all);
        assert!(messages > before);
    }
}

/// The messages of a job's start are those that it hands over at time 0, except in an open loop.
#[test]
fn jobs_start_with_the_messages_of_the_layout() {
    let started = |traffic: &Traffic, outstanding| {
        let mut all = job("job", JobNodes::All, traffic.clone());
        all.outstanding = outstanding;
        let described = jobs(
            Servers::Clustered { count: 2 },
            Mapping::Dedicated,
            vec![all],
        );
        let mut source = source(&described, 11);
        let mut demands = Vec::new();
        source.begin(&mut demands);
        let mut next = 0;
        while let Some(demand) = demands.get(next).copied() {
            next += 1;
            if demand.time == 0 && source.several(demand.process) {
                source.handed(0, &demand, &mut demands);
            }
        }
        let layout = Layout::new(&described, 11).unwrap();
        let start = layout.start(0, &described.jobs[0]);
        let longest = demands.iter().map(|demand| demand.bytes).max();
        let at_once = demands.iter().filter(|demand| demand.time == 0).count();
        ([at_once, demands.len()], start, longest.unwrap_or(0))
    };
    let uniform = |arrivals| Traffic::Uniform {
        sizes: Sizes::fixed(Bytes::new(1_000)),
        arrivals,
    };
    let open = uniform(Arrivals::Open {
        load: Bandwidth::from_mb_per_s(1),
        gaps: Spread::Exponential,
    });
    let checkpoint = Traffic::Checkpoint {
        period: Time::from_us(20),
        volume: Bytes::new(6_500),
        message: Bytes::new(1_000),
        destinations: Destinations::Random,
    };
    let mut hot = io(Targets::HotNode(4), CLOSED);
    hot.sizes = Sizes::fixed(Bytes::new(1_000));
    let exchange = Traffic::AllToAll {
        message: Bytes::new(1_000),
        pause: Time::ZERO,
    };
    let reduce = |algorithm| Traffic::AllReduce {
        vector: Bytes::new(1_000),
        algorithm,
        pause: Time::ZERO,
    };
    let stencil = Traffic::Neighbours {
        grid: vec![3, 3],
        wrap: true,
        message: Bytes::new(1_000),
        pause: Time::ZERO,
    };
    // Nine clients, of which a hot node is none; with one message, with three and with any number.
    let cases = [
        (uniform(CLOSED), [9, 27, 0]),
        (open, [9, 9, 9]),
        (checkpoint, [9, 27, 63]),
        (Traffic::Io(hot), [8, 24, 0]),
        (exchange, [9, 27, 72]),
        (reduce(AllReduce::Ring), [9, 9, 9]),
        (stencil, [9, 27, 36]),
    ];
    for (traffic, expected) in cases {
        let limits = [1, 3].map(Outstanding::AtMost);
        let limits = limits.into_iter().chain([Outstanding::Unlimited]);
        for (outstanding, expected) in limits.zip(expected) {
            // A closed loop has a number.
            if expected == 0 {
                continue;
            }
            let (seen, start, bytes) = started(&traffic, outstanding);
            let open = matches!(&traffic, Traffic::Uniform { arrivals, .. } if *arrivals != CLOSED);
            assert_eq!(start.messages, expected, "{traffic:?} {outstanding:?}");
            let seen = seen[usize::from(open)] as u64;
            assert_eq!(start.messages, seen, "{traffic:?} {outstanding:?}");
            assert!(open || start.sizes.mean.get() == bytes, "{traffic:?}");
        }
    }
    // One of nine ranks waits for the others' vectors at first.
    let (seen, start, _) = started(&reduce(AllReduce::RecursiveDoubling), Outstanding::ONE);
    assert_eq!((start.messages, seen[0]), (9, 8));
}
