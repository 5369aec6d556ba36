//! Measurements of the QsNET paper (sections 4.1 to 4.3), each against what its equation gives.

mod clients;
mod machine;

use clients::{Client, Seen, run};
use isthmus_kernel::{Engine as _, RunUntil};
use isthmus_packet::{
    Age, AgeFrom, AgeTie, Delivery, Engine, Handler, Kind, Message, Offers, Rules, Switching,
};
use machine::{main_memory, rules, tree, with_late};

fn client(node: u32, to: u32, bytes: u64) -> Client {
    Client { node, to, bytes }
}

/// Within a part in a thousand.
fn near(measured: f64, expected: f64) {
    assert!(
        (measured / expected - 1.0).abs() < 1e-3,
        "{measured}, expected {expected}"
    );
}

fn ping(rules: Rules, pairs: &[(u32, u32)]) -> Seen {
    let clients: Vec<Client> = pairs
        .iter()
        .map(|&(from, to)| client(from, to, 32_000_000))
        .collect();
    run(&tree(), rules, &clients, 0.002, 0.05, 0)
}

#[test]
fn one_way_the_dma_engine_limits() {
    // 320 B each period; ticks are 100 ps.
    near(ping(rules(), &[(0, 63)]).total(), 320.0 / 955.2e-3);
    near(ping(main_memory(), &[(0, 63)]).total(), 320.0 / 1600e-3);
}

#[test]
fn one_packet_in_flight_waits_for_its_acknowledgement() {
    let one = Rules {
        switching: Switching::Circuit { in_flight: 1 },
        ..rules()
    };
    // The wire time, and five switches there and back, and the acknowledgement at the node.
    let round_trip = 378.0 * 2.5 + 2.0 * 5.0 * 35.0 + 50.0;
    near(ping(one, &[(0, 63)]).total(), 320.0 / (round_trip * 1e-3));
}

#[test]
fn both_ways_packets_received_delay_the_engine() {
    for (rules, period) in [(rules(), 955.2 + 188.0), (main_memory(), 1600.0 + 2400.0)] {
        let seen = ping(rules, &[(0, 63), (63, 0)]);
        near(seen.client(0), 320.0 / (period * 1e-3));
        near(seen.client(1), 320.0 / (period * 1e-3));
    }
}

struct Last(Option<Delivery<()>>);

impl Handler for Last {
    type Tag = ();
    fn delivered(&mut self, delivery: &Delivery<()>, _: &mut Offers<()>) {
        self.0 = Some(*delivery);
    }
}

#[test]
fn short_messages_take_start_switches_and_wire() {
    // Start, switches on the way (1 in the same leaf, 5 to the other end), bytes at 2.5 ns.
    for (to, switches) in [(1, 1.0), (4, 3.0), (63, 5.0)] {
        for (bytes, wire) in [(0, 58.0), (1, 122.0), (64, 122.0), (320, 378.0)] {
            let mut engine = Engine::new(tree(), rules(), 0).unwrap();
            let message = Message {
                from: 0,
                to,
                bytes,
                kind: Kind::Write,
                queue: 0,
                tag: (),
            };
            engine.offer(0, message);
            let mut last = Last(None);
            engine.run_until(100_000, &mut last);
            let arrived = last.0.unwrap().arrived as f64 / 10.0;
            near(arrived, 1880.0 + switches * 35.0 + wire * 2.5);
        }
    }
}

fn hot_spot(rules: Rules, nodes: u32) -> Seen {
    let clients: Vec<Client> = (1..nodes).map(|node| client(node, 0, 1_000_000)).collect();
    run(&tree(), rules, &clients, 0.03, 0.2, 1)
}

fn mean(seen: &Seen, nodes: std::ops::Range<usize>) -> f64 {
    let count = nodes.len() as f64;
    nodes.map(|node| seen.client(node - 1)).sum::<f64>() / count
}

#[test]
fn a_hot_node_gets_what_its_link_carries() {
    let link = 320.0 / (378.0 * 2.5e-3);
    for nodes in [4, 16, 32] {
        near(hot_spot(rules(), nodes).total(), link);
        near(hot_spot(with_late(), nodes).total(), link);
    }
    near(hot_spot(rules(), 64).total(), link);
}

/// The term is put in, and so is the drop: 320 B in 945 + 87 ns. How it is shared is not.
#[test]
fn saturating_age_makes_near_nodes_faster_and_unlimited_age_makes_all_equal() {
    let seen = hot_spot(with_late(), 64);
    near(seen.total(), 320.0 / (945.0 + 87.0) * 1e3);
    let [a, b, c] = [1..4, 4..16, 16..64].map(|nodes| mean(&seen, nodes));
    // The paper's first and last group (8 and 4.3 MB/s) within 5%.
    assert!(
        (a / 8.0 - 1.0).abs() < 0.05 && (c / 4.3 - 1.0).abs() < 0.05,
        "{a} {b} {c}"
    );
    assert!(a > b && b > c);

    let age = |from, saturates| Rules {
        age: Age {
            from,
            saturates,
            tie: AgeTie::RoundRobin,
        },
        ..rules()
    };
    let equal = hot_spot(age(AgeFrom::Injection, None), 64);
    let share = 320.0 / 945.0 * 1e3 / 63.0;
    for nodes in [1..4, 4..16, 16..64] {
        let mean = mean(&equal, nodes);
        assert!(
            (mean / share - 1.0).abs() < 0.02,
            "{mean}, expected {share}"
        );
    }

    // Age that starts again at each switch: all inputs get the same, and the three neighbours share
    // the last link with four links from above.
    let restarted = hot_spot(age(AgeFrom::Request, Some(780_000)), 64);
    let seventh = 320.0 / 945.0 * 1e3 / 7.0;
    near(mean(&restarted, 1..4), seventh);
}

struct All(Vec<(u32, u64)>);

impl Handler for All {
    type Tag = ();
    fn delivered(&mut self, delivery: &Delivery<()>, _: &mut Offers<()>) {
        self.0.push((delivery.message.from, delivery.arrived));
    }
}

/// Every node writes to its opposite at once, so that up links are compared. The merits of links
/// were packed with times below 2^58, past which headers waited for ever.
#[test]
fn late_messages_are_as_fast_as_early_ones() {
    let arrivals = |begin: u64| {
        let mut engine = Engine::new(tree(), rules(), 5).unwrap();
        for from in 0..64 {
            let message = Message {
                from,
                to: 63 - from,
                bytes: 2000,
                kind: Kind::Write,
                queue: 0,
                tag: (),
            };
            engine.offer(begin, message);
        }
        let mut all = All(Vec::new());
        engine.run_until(begin + 10_000_000, &mut all);
        let since = all.0.iter().map(|&(from, arrived)| (from, arrived - begin));
        since.collect::<Vec<_>>()
    };
    let early = arrivals(0);
    assert_eq!(early.len(), 64);
    for begin in [(1 << 58) - 1000, 1 << 58, 3 << 58] {
        assert_eq!(arrivals(begin), early, "from tick {begin} on");
    }
}
