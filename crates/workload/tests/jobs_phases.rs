//! Phases against the naive expectation: from the first message of any process to the last.

use isthmus_kernel::{Cycles, Streams};
use isthmus_units::{Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{
    AllReduce, Destinations, Job, JobNodes, JobsTraffic, ListedTo, Mapping, MessageRun, Serve,
    Servers, Traffic,
};
use isthmus_workload::jobs::{Demand, JobsSource, Layout, Phase};
use isthmus_workload::storage::StorageSpec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

const TICK: Time = Time::from_ps(100);
const ACKNOWLEDGED: Cycles = 7;

fn only(traffic: Traffic) -> JobsTraffic {
    let outstanding = match traffic {
        Traffic::Neighbours { .. } => Outstanding::Unlimited,
        _ => Outstanding::ONE,
    };
    with(outstanding, traffic)
}

fn with(outstanding: Outstanding, traffic: Traffic) -> JobsTraffic {
    JobsTraffic {
        serve: Serve::All,
        servers: Servers::Clustered { count: 2 },
        storage: StorageSpec::None,
        mapping: Mapping::Dedicated,
        jobs: vec![Job {
            name: "job".to_owned(),
            nodes: JobNodes::All,
            traffic,
            active: true,
            outstanding,
        }],
    }
}

/// What each message takes: more from some nodes than from others, and not always the same.
fn delay(demand: &Demand) -> Cycles {
    40 + 13 * Cycles::from(demand.from) + demand.time % 31 + demand.bytes / 64
}

/// All messages that started before `until`, and the phases that were reported.
fn run(source: &mut JobsSource, until: Cycles) -> (Vec<Demand>, Vec<Phase>) {
    let (mut all, mut fresh, mut phases) = (Vec::new(), Vec::new(), Vec::new());
    let mut events: BinaryHeap<Reverse<(Cycles, usize, u8)>> = BinaryHeap::new();
    source.begin(&mut fresh);
    loop {
        for demand in fresh.drain(..) {
            events.push(Reverse((demand.time, all.len(), 0)));
            all.push(demand);
        }
        phases.extend(source.ended_phases());
        let Some(Reverse((now, number, stage))) = events.pop() else {
            break;
        };
        if now >= until {
            break;
        }
        let demand: Demand = all[number];
        match stage {
            0 => {
                events.push(Reverse((now + delay(&demand), number, 1)));
                source.handed(now, &demand, &mut fresh);
            }
            1 => {
                events.push(Reverse((now + ACKNOWLEDGED, number, 2)));
                source.arrived(now, &demand, &mut fresh);
            }
            _ => source.completed(now, &demand, &mut fresh),
        }
    }
    (all, phases)
}

fn source(traffic: &JobsTraffic) -> JobsSource {
    let layout = Layout::new(traffic, 9).expect("they fit");
    JobsSource::new(traffic, &layout, TICK, Streams::new(5, 0))
}

/// Begin and end of the messages of each group, the first groups whole.
fn spans<K: Ord>(all: &[Demand], group: impl Fn(&Demand) -> K) -> Vec<(Cycles, Cycles)> {
    let mut spans: BTreeMap<K, (Cycles, Cycles)> = BTreeMap::new();
    for demand in all {
        let end = demand.time + delay(demand) + ACKNOWLEDGED;
        let span = spans.entry(group(demand)).or_insert((demand.asked, end));
        *span = (span.0.min(demand.asked), span.1.max(end));
    }
    spans.into_values().collect()
}

fn compare(traffic: &JobsTraffic, group: impl Fn(&Demand) -> u64) {
    let (all, phases) = run(&mut source(traffic), 40_000);
    let expected = spans(&all, group);
    assert!(phases.len() > 5, "{} phases", phases.len());
    let found: Vec<_> = phases
        .iter()
        .map(|phase| (phase.start, phase.end))
        .collect();
    assert_eq!(found, expected[..found.len()]);
    assert!(phases.iter().all(|phase| phase.job == 0));
}

#[test]
fn rounds_of_collectives_end_with_their_last_message() {
    let pause = Time::from_ns(20);
    let message = Bytes::new(4_000);
    // Seven nodes beside the two servers.
    compare(&only(Traffic::AllToAll { message, pause }), |d| d.step / 6);
    let all_reduce = |algorithm| Traffic::AllReduce {
        vector: Bytes::new(7_000),
        algorithm,
        pause,
    };
    compare(&only(all_reduce(AllReduce::Ring)), |d| d.step / 12);
    let around = Traffic::Neighbours {
        grid: vec![7],
        wrap: true,
        message,
        pause: Time::ZERO,
    };
    compare(&only(around), |d| d.step);
}

#[test]
fn checkpoints_count_from_when_they_were_due() {
    // Three messages of each node: the last one is shorter. They take longer than the period, so
    // that each checkpoint waits for those before it.
    for period in [Time::from_ns(60), Time::from_ns(200)] {
        let checkpoint = Traffic::Checkpoint {
            period,
            volume: Bytes::new(10_000),
            message: Bytes::new(4_000),
            destinations: Destinations::Interleaved,
        };
        compare(&only(checkpoint), |d| d.asked);
    }
}

/// With several under way bursts and rounds may end out of order at one node; phases do not.
#[test]
fn phases_keep_their_order_with_several_messages_under_way() {
    let message = Bytes::new(4_000);
    for outstanding in [
        Outstanding::AtMost(2),
        Outstanding::AtMost(5),
        Outstanding::Unlimited,
    ] {
        let pause = Time::from_ns(20);
        let exchange = Traffic::AllToAll { message, pause };
        compare(&with(outstanding, exchange), |d| d.step / 6);
        let checkpoint = Traffic::Checkpoint {
            period: Time::from_ns(60),
            volume: Bytes::new(10_000),
            message,
            destinations: Destinations::Interleaved,
        };
        compare(&with(outstanding, checkpoint), |d| d.asked);
    }
}

fn sends(from: u32, to: ListedTo, bytes: u64, times: u32) -> MessageRun {
    MessageRun {
        from,
        to,
        bytes: Bytes::new(bytes),
        times,
    }
}

fn listed(messages: Vec<MessageRun>) -> Traffic {
    Traffic::Listed {
        messages,
        overhead: Time::from_ns(3),
        pause: Time::from_ns(20),
    }
}

/// Rank 3 sends nothing, rank 5 sends and gets nothing, rank 1 sends the same twice.
fn some_messages() -> Vec<MessageRun> {
    let to = ListedTo::Rank;
    vec![
        sends(0, to(1), 4_000, 1),
        sends(1, to(0), 64, 2),
        sends(0, to(3), 9_000, 1),
        sends(2, to(6), 1, 3),
        sends(4, to(6), 500, 1),
        sends(6, to(4), 500, 1),
        sends(0, to(1), 200, 1),
    ]
}

#[test]
fn listed_messages_are_sent_round_by_round() {
    for outstanding in [
        Outstanding::ONE,
        Outstanding::AtMost(2),
        Outstanding::Unlimited,
    ] {
        let traffic = with(outstanding, listed(some_messages()));
        compare(&traffic, |d| d.step);
        let (all, phases) = run(&mut source(&traffic), 40_000);
        for (round, phase) in phases.iter().enumerate() {
            let of_round: Vec<&Demand> = all.iter().filter(|d| d.step == round as u64).collect();
            assert_eq!(of_round.len(), 10);
            // All nodes ask at once, a pause of 200 ticks after the last has ended the round before.
            assert!(of_round.iter().all(|d| d.asked == phase.start));
            if round > 0 {
                assert_eq!(phase.start, phases[round - 1].end + 200);
            }
            // Each sends its own in order, no sooner than 30 ticks one after the other.
            let sent = |rank: u32| of_round.iter().filter(move |d| d.process == rank);
            let bytes: Vec<(u32, u64)> = sent(0).map(|d| (d.to, d.bytes)).collect();
            assert_eq!(bytes, [(1, 4_000), (3, 9_000), (1, 200)]);
            for rank in 0..7 {
                let times: Vec<Cycles> = sent(rank).map(|d| d.time).collect();
                let first = times.first().copied();
                assert!(first.is_none_or(|first| first == phase.start + 30));
                assert!(
                    times.windows(2).all(|pair| pair[1] >= pair[0] + 30),
                    "{times:?}"
                );
                if outstanding == Outstanding::Unlimited {
                    assert!(times.windows(2).all(|pair| pair[1] == pair[0] + 30));
                }
            }
        }
    }
}

#[test]
fn listed_messages_to_servers_are_waited_for_by_their_senders_only() {
    let to = ListedTo::Server;
    let messages = vec![sends(0, to(1), 4_000, 2), sends(3, to(0), 64, 1)];
    let mut traffic = only(listed(messages));
    compare(&traffic, |d| d.step);
    let (all, _) = run(&mut source(&traffic), 4_000);
    // Servers 0 and 1 are nodes 7 and 8.
    assert_eq!((all[0].to, all[1].to), (8, 7));
    // Also where the servers are nodes of the job.
    traffic.mapping = Mapping::Shared;
    compare(&traffic, |d| d.step);
}

#[test]
fn listed_messages_must_have_both_ends() {
    let error = |messages: Vec<MessageRun>| {
        let error = Layout::new(&only(listed(messages)), 9).unwrap_err();
        assert_eq!(error.job(), Some(0));
        error.to_string()
    };
    let (rank, server) = (ListedTo::Rank, ListedTo::Server);
    let there = "there is no rank 7; the job has 7 nodes";
    assert_eq!(error(vec![sends(7, rank(0), 1, 1)]), there);
    assert_eq!(error(vec![sends(0, rank(7), 1, 1)]), there);
    assert_eq!(
        error(vec![sends(0, server(2), 1, 1)]),
        "there is no server 2; there are 2 I/O servers"
    );
    assert_eq!(
        error(vec![sends(1, rank(2), 1, 1), sends(4, rank(4), 1, 1)]),
        "a message of rank 4 goes to its own node"
    );
}

#[test]
fn others_have_no_phases() {
    let ping = Traffic::Ping {
        message: Bytes::new(8),
        both_ways: true,
        pause: Time::ZERO,
    };
    let mut traffic = only(ping);
    traffic.jobs[0].nodes = JobNodes::Listed(vec![0, 1]);
    let (all, phases) = run(&mut source(&traffic), 10_000);
    assert!(all.len() > 20 && phases.is_empty());
}
