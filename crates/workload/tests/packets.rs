//! What the packets of a fabric's nodes look like in the long run.

use isthmus_kernel::Streams;
use isthmus_units::{Bandwidth, Bytes, Clock, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::packets::spec::{HotNode, PacketTraffic, Spacing, Transaction};
use isthmus_workload::packets::{PacketSource, Request};

/// 2 ns a cycle (Table 1 of the SCI paper).
fn clock() -> Clock {
    Clock::new(Bytes::new(2), Bandwidth::from_mb_per_s(1_000)).expect("both are above zero")
}

fn traffic() -> PacketTraffic {
    PacketTraffic {
        load: Bandwidth::from_mb_per_s(600),
        spacing: Spacing::Exponential,
        phases: 1.0,
        transaction: Transaction::Move,
        payload: Bytes::new(64),
        senders: Vec::new(),
        hot_node: None,
        turnaround: Time::ZERO,
        outstanding: Outstanding::Unlimited,
    }
}

fn source(traffic: &PacketTraffic, nodes: u32) -> PacketSource {
    let live: Vec<u32> = (0..nodes).collect();
    PacketSource::new(traffic, &live, clock(), Streams::new(5, 0))
}

fn requests(source: &mut PacketSource, node: u32, count: usize) -> Vec<Request> {
    (0..count).map(|_| source.next(node)).collect()
}

/// Whether `count` of `n` draws is within four standard deviations of probability `p`.
fn near(count: usize, n: usize, p: f64) -> bool {
    let n = n as f64;
    (count as f64 - n * p).abs() <= 4.0 * (n * p * (1.0 - p)).sqrt()
}

#[test]
fn all_nodes_together_offer_the_load() {
    // Mean gap of a node: 64 B * 16 / 0.6 GB/s = 1706.67 ns = 853.33 cycles.
    let mut source = source(&traffic(), 16);
    assert!((source.mean_gap() - 64.0 * 16.0 / 0.6 / 2.0).abs() < 1e-9);
    let n = 50_000;
    let (mut total, mut squares) = (0.0, 0.0);
    for node in 0..16 {
        let mut last = 0;
        for request in requests(&mut source, node, n) {
            let gap = (request.time - last) as f64;
            last = request.time;
            total += gap;
            squares += gap * gap;
        }
    }
    let draws = 16.0 * n as f64;
    let mean = total / draws;
    let scv = squares / draws / (mean * mean) - 1.0;
    // Standard errors of an exponential sample: 1 / sqrt(n) of the mean, sqrt(8 / n) of C^2.
    assert!(
        (mean / source.mean_gap() - 1.0).abs() < 4.0 / draws.sqrt(),
        "{mean}"
    );
    assert!((scv - 1.0).abs() < 4.0 * (8.0 / draws).sqrt(), "{scv}");
}

#[test]
fn equal_gaps_keep_their_mean_exactly_and_phases_differ() {
    let traffic = PacketTraffic {
        spacing: Spacing::Deterministic,
        ..traffic()
    };
    let mut source = source(&traffic, 16);
    let mut phases = Vec::new();
    for node in 0..16 {
        let requests = requests(&mut source, node, 3_001);
        phases.push(requests[0].time);
        assert!((requests[0].time as f64) < source.mean_gap());
        // 3000 gaps of 853 1/3 cycles, to the cycle.
        let all = requests[3_000].time - requests[0].time;
        assert!((2_559_999..=2_560_001).contains(&all), "{all}");
        for pair in requests.windows(2) {
            assert!((853..=854).contains(&(pair[1].time - pair[0].time)));
        }
    }
    phases.sort_unstable();
    phases.dedup();
    assert!(phases.len() > 12, "{phases:?}");
}

#[test]
fn phases_are_spread_over_the_stated_part_of_a_gap() {
    for phases in [0.0, 0.25] {
        let traffic = PacketTraffic {
            spacing: Spacing::Deterministic,
            phases,
            ..traffic()
        };
        let mut source = source(&traffic, 64);
        let first: Vec<_> = (0..64).map(|node| source.next(node).time).collect();
        let (earliest, latest) = (first.iter().min().unwrap(), first.iter().max().unwrap());
        let part = phases * source.mean_gap();
        assert!(*latest as f64 <= part, "{phases}: {latest} of {part}");
        // 64 draws leave the outer eighths empty with a probability below 2 (7/8)^64.
        assert!((latest - earliest) as f64 >= 0.75 * part - 1.0, "{first:?}");
    }
}

#[test]
fn destinations_are_uniform_over_the_other_nodes_in_service() {
    let live = [0, 2, 3, 5, 9];
    let mut source = PacketSource::new(&traffic(), &live, clock(), Streams::new(1, 3));
    assert_eq!(source.senders(), live);
    let n = 80_000;
    for node in live {
        let mut counts = [0usize; 10];
        for request in requests(&mut source, node, n) {
            counts[request.destination as usize] += 1;
        }
        for to in 0..10 {
            let possible = live.contains(&to) && to != node;
            let p = if possible { 0.25 } else { 0.0 };
            assert!(
                near(counts[to as usize], n, p),
                "{node} to {to}: {counts:?}"
            );
        }
    }
}

#[test]
fn a_hot_node_gets_its_share_and_its_own_packets_go_elsewhere() {
    let traffic = PacketTraffic {
        hot_node: Some(HotNode {
            node: 2,
            probability: 0.3,
        }),
        ..traffic()
    };
    let mut source = source(&traffic, 5);
    let n = 80_000;
    for node in 0..5u32 {
        let requests = requests(&mut source, node, n);
        let count = |to: u32| requests.iter().filter(|r| r.destination == to).count();
        for to in 0..5 {
            let p = match (node, to) {
                _ if node == to => 0.0,
                (2, _) => 0.25,
                // 3 in 10 drawn to it, and its share of the rest.
                (_, 2) => 0.3 + 0.7 / 4.0,
                _ => 0.7 / 4.0,
            };
            assert!(near(count(to), n, p), "{node} to {to}: {}", count(to));
        }
    }
}

#[test]
fn only_senders_in_service_send_and_share_the_whole_load() {
    let traffic = PacketTraffic {
        senders: vec![7, 1, 4],
        ..traffic()
    };
    let live = [0, 1, 2, 3, 5, 6, 7];
    let mut source = PacketSource::new(&traffic, &live, clock(), Streams::new(1, 0));
    assert_eq!(source.senders(), [1, 7]);
    assert!((source.mean_gap() - 64.0 * 2.0 / 0.6 / 2.0).abs() < 1e-9);
    assert!(live.contains(&source.next(7).destination));
}

#[test]
fn nobody_sends_without_a_partner_and_a_failed_hot_node_favours_nothing() {
    for live in [&[][..], &[3]] {
        let source = PacketSource::new(&traffic(), live, clock(), Streams::new(1, 0));
        assert!(source.senders().is_empty());
    }
    let traffic = PacketTraffic {
        hot_node: Some(HotNode {
            node: 1,
            probability: 1.0,
        }),
        ..traffic()
    };
    let mut source = PacketSource::new(&traffic, &[0, 2, 4], clock(), Streams::new(1, 0));
    let destinations: Vec<u32> = requests(&mut source, 0, 50)
        .iter()
        .map(|request| request.destination)
        .collect();
    assert!(destinations.contains(&2) && destinations.contains(&4));
}

#[test]
fn a_nodes_packets_depend_on_seed_and_replication_only() {
    let of = |seed, replication, order: &[u32]| {
        let live: Vec<u32> = (0..8).collect();
        let streams = Streams::new(seed, replication);
        let mut source = PacketSource::new(&traffic(), &live, clock(), streams);
        let mut packets = vec![Vec::new(); 8];
        for _ in 0..100 {
            for &node in order {
                packets[node as usize].push(source.next(node));
            }
        }
        packets
    };
    let forwards: Vec<u32> = (0..8).collect();
    let backwards: Vec<u32> = (0..8).rev().collect();
    assert_eq!(of(1, 0, &forwards), of(1, 0, &backwards));
    assert_ne!(of(1, 0, &forwards), of(2, 0, &forwards));
    assert_ne!(of(1, 0, &forwards), of(1, 1, &forwards));
}

/// Another load changes when packets are sent, not where to: common random numbers.
#[test]
fn destinations_do_not_depend_on_the_load() {
    let destinations = |mb_per_s| {
        let traffic = PacketTraffic {
            load: Bandwidth::from_mb_per_s(mb_per_s),
            ..traffic()
        };
        let mut source = source(&traffic, 9);
        let requests = requests(&mut source, 4, 200);
        requests.iter().map(|r| r.destination).collect::<Vec<_>>()
    };
    assert_eq!(destinations(600), destinations(30_000));
}
