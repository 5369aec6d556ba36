//! Phases against the naive expectation: from the first message of any process to the last.

use isthmus_kernel::{Cycles, Streams};
use isthmus_units::{Bytes, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{
    AllReduce, Destinations, Job, JobNodes, JobsTraffic, Mapping, Servers, Traffic,
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

/// All messages that began before `until`, and the phases that were told.
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
    let told: Vec<_> = phases
        .iter()
        .map(|phase| (phase.begun, phase.ended))
        .collect();
    assert_eq!(told, expected[..told.len()]);
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
