//! Hand-written cases in which the readings of rules differ. A byte takes a tick, a
//! header 10 ticks for each switch; a packet of 10 bytes takes a link for 20 ticks, the longest for
//! 110.

use isthmus_kernel::{Cycles, Engine as _, RunUntil};
use isthmus_packet::routes::FatTree;
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Delivery, Engine, Handler, Interface, Kind, LinkLoad, LinkTie,
    Message, Offers, Outputs, PacketSeen, Rules, Switching,
};
use isthmus_topology::trees::{Ascent, Shape, Tree, Vertex};
use std::sync::Arc;

const SHORT: u64 = 10;
const LONG: u64 = 100;

const CUT_THROUGH: Switching = Switching::CutThrough {
    buffer: 220,
    credit: 0,
    outputs: None,
};
const BUFFERED: Switching = Switching::CutThrough {
    buffer: 220,
    credit: 1_000,
    outputs: Some(Outputs {
        buffer: 220,
        speedup: 1,
    }),
};
const CIRCUIT: Switching = Switching::Circuit { in_flight: 2 };

fn tree(arity: u32, levels: u32) -> Tree {
    Tree::new(&Shape::KAry { arity, levels }).unwrap()
}

fn rules(switching: Switching, age: Age, adaptive: Adaptive) -> Rules {
    Rules {
        byte: 1,
        hop: 10,
        acknowledge: 1_000,
        acknowledge_hop: 0,
        channels: 2,
        switching,
        adaptive,
        age,
        late: None,
        payload: LONG as u32,
        overhead: 10,
        block: 1,
        interface: Interface {
            queues: 1,
            start: 0,
            packet: 1,
            packet_block: 0,
            receive: 0,
            slice: 1,
            request: 0,
            turnaround: 0,
        },
    }
}

/// Packets in the order of their arrival: tag and links.
#[derive(Default)]
struct Seen(Vec<(&'static str, Vec<u32>)>);

impl Handler for Seen {
    type Tag = &'static str;

    fn delivered(&mut self, _: &Delivery<Self::Tag>, _: &mut Offers<Self::Tag>) {}

    fn packet(&mut self, packet: &PacketSeen<'_, Self::Tag>) {
        let links = packet.path().map(|lane| lane.link);
        self.0.push((packet.tag, links.collect()));
    }
}

/// Messages: name, when, from, to, bytes.
type Sent = (&'static str, Cycles, u32, u32, u64);

fn run(tree: &Tree, rules: Rules, seed: u64, messages: &[Sent]) -> Vec<(&'static str, Vec<u32>)> {
    let routes = FatTree::new(tree, Ascent::Adaptive);
    let mut engine = Engine::new(Arc::new(routes), rules, seed).unwrap();
    for &(tag, time, from, to, bytes) in messages {
        let message = Message {
            from,
            to,
            bytes,
            kind: Kind::Write,
            queue: 0,
            tag,
        };
        engine.offer(time, message);
    }
    let mut seen = Seen::default();
    engine.run_until(100_000, &mut seen);
    assert_eq!(seen.0.len(), messages.len(), "each is one packet");
    seen.0
}

fn age(from: AgeFrom, tie: AgeTie) -> Age {
    Age {
        from,
        saturates: None,
        tie,
    }
}

/// The order in which packets arrive at node 0, of one channel.
fn order(tree: &Tree, age: Age, seed: u64, messages: &[Sent]) -> Vec<&'static str> {
    let rules = Rules {
        channels: 1,
        ..rules(CUT_THROUGH, age, Adaptive::default())
    };
    let arrived = run(tree, rules, seed, messages).into_iter();
    let names = arrived.map(|(name, _)| name);
    names.filter(|name| *name != "aside").collect()
}

/// Node 3 keeps the link of node 0 taken for 110 ticks from tick 10 on. The message of b was handed
/// over at 0 and had to wait until its node had sent another, at 20; that of c went at 15.
#[test]
fn the_age_counts_from_the_message_or_its_injection() {
    let messages = [
        ("first", 0, 3, 0, LONG),
        ("aside", 0, 1, 2, SHORT),
        ("b", 0, 1, 0, SHORT),
        ("c", 15, 2, 0, SHORT),
    ];
    let by = |from| order(&tree(4, 1), age(from, AgeTie::RoundRobin), 0, &messages);
    assert_eq!(by(AgeFrom::Message), ["first", "b", "c"]);
    for from in [AgeFrom::Injection, AgeFrom::Arrival, AgeFrom::Request] {
        assert_eq!(by(from), ["first", "c", "b"], "{from:?}");
    }
}

/// While that link is taken, b is injected at 2 far away and asks for it at 32, over two other
/// switches; c is injected at 3 beside it and asks at 13.
#[test]
fn the_age_counts_from_the_injection_or_the_arrival_at_the_switch() {
    let messages = [
        ("first", 0, 3, 0, LONG),
        ("b", 2, 4, 0, SHORT),
        ("c", 3, 1, 0, SHORT),
    ];
    let by = |from| order(&tree(4, 2), age(from, AgeTie::RoundRobin), 0, &messages);
    for from in [AgeFrom::Message, AgeFrom::Injection] {
        assert_eq!(by(from), ["first", "b", "c"], "{from:?}");
    }
    for from in [AgeFrom::Arrival, AgeFrom::Request] {
        assert_eq!(by(from), ["first", "c", "b"], "{from:?}");
    }
}

/// Node 1 sends two: the second is at the switch at 31, behind the other, and asks when that has left,
/// at 140. That of node 2 is there and asks at 35.
#[test]
fn the_age_counts_from_the_arrival_or_the_request() {
    let messages = [
        ("first", 0, 3, 0, LONG),
        ("a", 1, 1, 0, SHORT),
        ("b", 1, 1, 0, SHORT),
        ("c", 25, 2, 0, SHORT),
    ];
    let by = |from| order(&tree(4, 1), age(from, AgeTie::RoundRobin), 0, &messages);
    for from in [AgeFrom::Message, AgeFrom::Injection, AgeFrom::Arrival] {
        assert_eq!(by(from), ["first", "a", "b", "c"], "{from:?}");
    }
    assert_eq!(by(AgeFrom::Request), ["first", "a", "c", "b"]);
}

/// After one of node 2 three are equally old. Going around, node 3 is next.
#[test]
fn of_packets_equally_old_the_rule_decides() {
    let messages = [
        ("first", 0, 2, 0, SHORT),
        ("1", 500, 1, 0, SHORT),
        ("2", 500, 2, 0, SHORT),
        ("3", 500, 3, 0, SHORT),
    ];
    let by = |tie, seed| {
        let found = order(&tree(4, 1), age(AgeFrom::Injection, tie), seed, &messages);
        found[1..].to_vec()
    };
    let seeds = 600;
    let mut first = [0u32; 3];
    for seed in 0..seeds {
        assert_eq!(by(AgeTie::RoundRobin, seed), ["3", "1", "2"]);
        assert_eq!(by(AgeTie::Lowest, seed), ["1", "2", "3"]);
        let any = by(AgeTie::Random, seed)[0].parse::<usize>().unwrap();
        first[any - 1] += 1;
    }
    // Each a third of the time: six standard errors of sqrt(600 * 2/9) = 11.5.
    assert!(
        first
            .iter()
            .all(|count| count.abs_diff(seeds as u32 / 3) < 70),
        "{first:?}"
    );
}

/// The link up of the leaf switch of nodes 0 to `arity` - 1 that each packet took, from 0.
fn ups(tree: &Tree, rules: Rules, seed: u64, messages: &[Sent]) -> Vec<u32> {
    let Vertex::Switch(leaf) = tree.target(tree.ascents(Vertex::Node(0)).start) else {
        panic!("a node below a node")
    };
    let first = tree.ascents(Vertex::Switch(leaf)).start;
    let seen = run(tree, rules, seed, messages).into_iter();
    seen.map(|(_, links)| links[1] - first).collect()
}

const SWITCHINGS: [Switching; 3] = [CIRCUIT, CUT_THROUGH, BUFFERED];

/// Four packets leave a switch with four links up, one after another, and a fifth: all links are idle
/// and have all their room whenever one comes.
#[test]
fn of_links_loaded_alike_the_rule_decides() {
    let tree = tree(4, 2);
    let at = |k: u64| ("", 3_000 * k, 1, 5, SHORT);
    let messages = [at(0), at(1), at(2), at(3), at(4)];
    for switching in SWITCHINGS {
        for load in [LinkLoad::Room, LinkLoad::Idle] {
            let by = |tie, seed| {
                let age = age(AgeFrom::Injection, AgeTie::RoundRobin);
                ups(
                    &tree,
                    rules(switching, age, Adaptive { load, tie }),
                    seed,
                    &messages,
                )
            };
            let mut again = 0;
            for seed in 0..300 {
                assert_eq!(by(LinkTie::Lowest, seed), [0; 5]);
                let idle = by(LinkTie::LongestIdle, seed);
                let mut sorted = idle[..4].to_vec();
                sorted.sort_unstable();
                assert_eq!((sorted, idle[4]), (vec![0, 1, 2, 3], idle[0]));
                let any = by(LinkTie::Random, seed);
                again += u32::from(any[1] == any[0]);
            }
            // A quarter of 300: six standard errors of sqrt(300 * 3/16) = 7.5.
            assert!(again.abs_diff(75) < 45, "{switching:?}: {again}");
        }
    }
}

/// A second packet follows the first when that has crossed the lowest link up, but still holds a
/// circuit, or its room is not known to be free; or while it crosses it.
#[test]
fn a_link_is_loaded_by_what_holds_its_room_or_by_what_crosses_it() {
    let tree = tree(4, 2);
    let late_credits = Switching::CutThrough {
        buffer: 220,
        credit: 1_000,
        outputs: None,
    };
    for switching in [CIRCUIT, late_credits, BUFFERED] {
        let by = |load, time| {
            let messages = [("", 0, 1, 5, SHORT), ("", time, 2, 6, SHORT)];
            let age = age(AgeFrom::Injection, AgeTie::RoundRobin);
            let tie = LinkTie::Lowest;
            ups(
                &tree,
                rules(switching, age, Adaptive { load, tie }),
                0,
                &messages,
            )
        };
        assert_eq!(by(LinkLoad::Room, 100), [0, 1], "{switching:?}");
        assert_eq!(by(LinkLoad::Idle, 100), [0, 0], "{switching:?}");
        for load in [LinkLoad::Room, LinkLoad::Idle] {
            assert_eq!(by(load, 5), [0, 1], "{switching:?}");
        }
    }
}
