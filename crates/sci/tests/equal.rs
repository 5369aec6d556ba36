//! The event-driven engine against the symbol-by-symbol reference: everything that comes out, on
//! random fabrics, rules and loads.

use crate::drive::{self, Answer, Demand, Log};
use isthmus_kernel::{Chance, Stream, Streams, Uniform};
use isthmus_sci::{ChangeFrom, Fabric, FlowControl, Rules, Source, event, symbol};
use isthmus_topology::rings::Segment;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// Rings of every kind: single, counter-rotating, tori, uniform squares, and any.
fn rings() -> impl Strategy<Value = (u32, Vec<Vec<u32>>)> {
    let ring = (2u32..9).prop_map(|n| (n, vec![(0..n).collect()]));
    let pair = (2u32..9).prop_map(|n| (n, vec![(0..n).collect(), (0..n).rev().collect()]));
    let torus = (2u32..5, 2u32..4, any::<bool>()).prop_map(torus);
    let squares = (3u32..5, 3u32..5).prop_map(|(x, y)| {
        let at = |i: u32, j: u32| (j % y) * x + i % x;
        let face = |i, j| vec![at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        let faces = (0..y).flat_map(|j| (0..x).map(move |i| (i, j)));
        (x * y, faces.map(|(i, j)| face(i, j)).collect())
    });
    let any = (3u32..10).prop_flat_map(|n| {
        let ring = prop::collection::vec(any::<prop::sample::Index>(), 2..6);
        (Just(n), prop::collection::vec(ring, 1..7)).prop_map(|(n, raw)| {
            let distinct = |ring: Vec<prop::sample::Index>| {
                let mut members: Vec<u32> = Vec::new();
                for index in ring {
                    let node = index.index(n as usize) as u32;
                    if !members.contains(&node) {
                        members.push(node);
                    }
                }
                members
            };
            let mut rings: Vec<_> = raw.into_iter().map(distinct).collect();
            rings.retain(|ring| ring.len() > 1);
            // Without this ring few pairs of nodes could reach each other.
            rings.push((0..n).collect());
            (n, rings)
        })
    });
    prop_oneof![1 => ring, 2 => pair, 3 => torus, 2 => squares, 3 => any]
}

/// A torus of rows and columns, one-way or two-way.
fn torus((x, y, both): (u32, u32, bool)) -> (u32, Vec<Vec<u32>>) {
    let rows = (0..y).map(|j| (0..x).map(|i| j * x + i).collect::<Vec<_>>());
    let columns = (0..x).map(|i| (0..y).map(|j| j * x + i).collect());
    let mut rings: Vec<Vec<u32>> = rows.chain(columns).collect();
    if both {
        let back: Vec<Vec<u32>> = rings
            .iter()
            .map(|ring| ring.iter().rev().copied().collect())
            .collect();
        rings.extend(back);
    }
    (x * y, rings)
}

/// Fabrics so large that the event-driven engine keeps notes of where there is work.
fn large_rings() -> impl Strategy<Value = (u32, Vec<Vec<u32>>)> {
    let ring = (257u32..300).prop_map(|n| (n, vec![(0..n).collect()]));
    let tori = (9u32..19, 15u32..19, any::<bool>()).prop_map(torus);
    prop_oneof![1 => ring, 4 => tori]
}

fn rules() -> impl Strategy<Value = Rules> {
    let slots = || prop_oneof![3 => Just(1u32), 2 => 2u32..4, 1 => 4u32..7];
    (
        prop_oneof![1u64..4, 4u64..21, Just(150)],
        prop_oneof![0u64..4, 4u64..60],
        1u32..6,
        [slots(), slots(), slots()],
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(
                hop,
                ring_change,
                echo,
                [input_slots, output_slots, client_slots],
                [bounded, early],
            )| Rules {
                hop,
                ring_change,
                change_from: if early {
                    ChangeFrom::Header
                } else {
                    ChangeFrom::Transfer
                },
                symbols_max: 136,
                echo,
                input_slots,
                output_slots,
                client_slots,
                source: if bounded {
                    Source::Bounded
                } else {
                    Source::Unbounded
                },
                flow_control: FlowControl::None,
            },
        )
}

/// How packets are drawn.
#[derive(Debug, Clone)]
struct Load {
    packets: u32,
    /// Packets are generated in whole multiples of this, so that many meet in one cycle.
    grain: u64,
    /// The last is generated within so many cycles for each packet, times 1/16.
    spacing: u64,
    /// Probability of an answer.
    answers: f64,
    /// Probability of going to node 0.
    hot: f64,
    lengths: Vec<u32>,
    /// Whether routes wander from ring to ring, so that many go through agents and in circles.
    wander: bool,
    seed: u64,
}

fn load() -> impl Strategy<Value = Load> {
    (
        prop_oneof![2 => 1u32..40, 4 => 40u32..500],
        prop_oneof![Just(1u64), 2u64..60],
        prop_oneof![0u64..16, 16u64..1200],
        prop_oneof![Just(0.0), Just(0.5), Just(1.0)],
        prop_oneof![3 => Just(0.0), 1 => Just(0.6)],
        prop_oneof![
            Just(vec![40]),
            prop::collection::vec(5u32..=136, 1..5),
            Just(vec![8, 16, 40, 136])
        ],
        prop::bool::weighted(0.4),
        any::<u64>(),
    )
        .prop_map(
            |(packets, grain, spacing, answers, hot, lengths, wander, seed)| Load {
                packets,
                grain,
                spacing,
                answers,
                hot,
                lengths,
                wander,
                seed,
            },
        )
}

fn demands(fabric: &Fabric, load: &Load) -> Vec<Demand> {
    let mut stream = Streams::new(load.seed, 0).stream("demands", 0);
    let below = |n: u32, stream: &mut Stream| Uniform::below(n).draw(stream);
    let window = load.spacing * u64::from(load.packets) / 16 + 1;
    let mut demands = Vec::new();
    for _ in 0..load.packets {
        let nodes = fabric.node_count();
        let time = u64::from(below(window as u32, &mut stream)) / load.grain * load.grain;
        let node = below(nodes, &mut stream);
        let to = if Chance::new(load.hot).draw(&mut stream) {
            0
        } else {
            below(nodes, &mut stream)
        };
        let length =
            |stream: &mut Stream| load.lengths[below(load.lengths.len() as u32, stream) as usize];
        let symbols = length(&mut stream);
        let way = if load.wander {
            wander(fabric, node, &mut stream)
        } else {
            route(fabric, node, to, &mut stream)
        };
        let Some(way) = way else { continue };
        let to = fabric.route_end(node, &way).unwrap();
        let back = route(fabric, to, node, &mut stream);
        let answer = back.filter(|_| Chance::new(load.answers).draw(&mut stream));
        demands.push(Demand {
            time,
            node,
            symbols,
            route: way,
            answer: answer.map(|route| Answer {
                turnaround: u64::from(below(3, &mut stream) * below(100, &mut stream)),
                symbols: length(&mut stream),
                route,
            }),
        });
    }
    demands
}

/// What differs first between two runs, in words.
fn difference(one: &Log, other: &Log) -> Option<String> {
    if one == other {
        return None;
    }
    let only = |a: &Log, b: &Log| {
        let absent = a.delivered.iter().filter(|d| !b.delivered.contains(d));
        absent.copied().min_by_key(|delivery| delivery.header)
    };
    let pairs = one.parts.iter().zip(&other.parts);
    Some(format!(
        "first delivery of one only: {:?}; of the other only: {:?}; first parts that differ: \
             {:?}; drops differ: {}; counters: {:?}, {:?}",
        only(one, other),
        only(other, one),
        pairs.clone().find(|(a, b)| a != b),
        one.dropped != other.dropped,
        one.counters,
        other.counters,
    ))
}

/// A shortest route, each step drawn among those that lead on; `None` if there is no way.
fn route(fabric: &Fabric, from: u32, to: u32, stream: &mut Stream) -> Option<Vec<Segment>> {
    let nodes = fabric.node_count() as usize;
    // Distances to `to`, by relaxing all links until nothing changes.
    let mut distance = vec![u32::MAX; nodes];
    distance[to as usize] = 0;
    let links: Vec<(usize, usize, u32)> = fabric
        .interfaces()
        .values()
        .iter()
        .map(|interface| {
            let next = fabric.interfaces()[interface.next].node;
            (interface.node as usize, next as usize, interface.ring)
        })
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for &(a, b, _) in &links {
            if distance[b] != u32::MAX && distance[a] > distance[b] + 1 {
                distance[a] = distance[b] + 1;
                changed = true;
            }
        }
    }
    if from == to || distance[from as usize] == u32::MAX {
        return None;
    }
    let mut route: Vec<Segment> = Vec::new();
    let mut at = from as usize;
    while at != to as usize {
        let on: Vec<_> = links
            .iter()
            .filter(|&&(a, b, _)| a == at && distance[b].checked_add(1) == Some(distance[at]))
            .collect();
        let &&(_, next, ring) = &on[Uniform::below(on.len() as u32).draw(stream) as usize];
        match route.last_mut() {
            Some(last) if last.ring == ring => last.hops += 1,
            _ => route.push(Segment { ring, hops: 1 }),
        }
        at = next;
    }
    Some(route)
}

/// A route of up to six stretches, drawn step by step; `None` if it ends where it began.
fn wander(fabric: &Fabric, from: u32, stream: &mut Stream) -> Option<Vec<Segment>> {
    let mut route: Vec<Segment> = Vec::new();
    let mut at = from;
    for _ in 0..=Uniform::below(6).draw(stream) {
        let ports = fabric.node_interfaces(at);
        let last = route.last().map(|segment| segment.ring);
        let rings = fabric.interfaces().values()[ports].iter();
        let rings: Vec<u32> = rings.map(|i| i.ring).filter(|&r| last != Some(r)).collect();
        if rings.is_empty() {
            break;
        }
        let ring = rings[Uniform::below(rings.len() as u32).draw(stream) as usize];
        let around = fabric.ring_interfaces(ring).len() as u32;
        let hops = 1 + Uniform::below(around - 1).draw(stream);
        let (_, end) = fabric.segment_ends(at, Segment { ring, hops }).unwrap();
        at = fabric.interfaces()[end].node;
        route.push(Segment { ring, hops });
    }
    fabric.route_end(from, &route).is_ok().then_some(route)
}

/// What both engines give.
fn by_both(
    fabric: &Fabric,
    rules: Rules,
    demands: &[Demand],
    patience: u64,
) -> Result<Log, TestCaseError> {
    type Tag = (u32, isthmus_sci::Class);
    let fast = drive::run::<event::Engine<Tag>>(fabric, rules, demands, 12, 1009, patience);
    let slow = drive::run::<symbol::Engine<Tag>>(fabric, rules, demands, 12, 1009, patience);
    match difference(&fast, &slow) {
        Some(difference) => Err(TestCaseError::fail(difference)),
        None => Ok(fast),
    }
}

#[test]
fn both_engines_are_equal_on_large_fabrics() {
    let [delivered, retries] = [const { Cell::new(0u64) }; 2];
    let cases = 60;
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let patience = 1u64..3000;
    runner
        .run(
            &(large_rings(), rules(), load(), patience),
            |((nodes, rings), rules, load, patience)| {
                let fabric = Fabric::new(nodes, &rings).unwrap();
                let demands = demands(&fabric, &load);
                let log = by_both(&fabric, rules, &demands, patience)?;
                delivered.set(delivered.get() + log.delivered.len() as u64);
                retries.set(retries.get() + log.counters.retries.iter().sum::<u64>());
                Ok(())
            },
        )
        .unwrap();
    let (delivered, retries) = (delivered.get(), retries.get());
    println!(
        "{cases} large fabrics: {delivered} deliveries, {retries} busy retries, no difference"
    );
    assert!(delivered >= 5_000, "{delivered} deliveries");
    assert!(retries >= 500, "{retries} retries");
}

#[test]
fn both_engines_are_equal_in_everything_that_comes_out() {
    let cases = 1000;
    let [
        ran,
        loaded,
        packets,
        delivered,
        dropped,
        retries,
        responses,
        stalls,
        circles,
    ] = [const { Cell::new(0u64) }; 9];
    let add = |cell: &Cell<u64>, more: u64| cell.set(cell.get() + more);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let patience = 1u64..3000;
    runner
        .run(
            &(rings(), rules(), load(), patience),
            |((nodes, rings), rules, load, patience)| {
                let fabric = Fabric::new(nodes, &rings).unwrap();
                let demands = demands(&fabric, &load);
                let fast = by_both(&fabric, rules, &demands, patience)?;
                add(&ran, 1);
                add(&loaded, u64::from(!demands.is_empty()));
                add(&packets, demands.len() as u64);
                add(&delivered, fast.delivered.len() as u64);
                add(&dropped, fast.dropped.len() as u64);
                add(&retries, fast.counters.retries.iter().sum());
                let answers = fast.delivered.iter();
                let is_answer = |class| class == isthmus_sci::Class::Response;
                add(
                    &responses,
                    answers.filter(|delivery| is_answer(delivery.class)).count() as u64,
                );
                let last = fast.parts.last().unwrap();
                add(&stalls, u64::from(last.stall.is_some()));
                add(&circles, u64::from(!last.wedged.is_empty()));
                Ok(())
            },
        )
        .unwrap();
    println!(
        "{} random fabrics, rules and loads, {} with packets: {} packets, {} deliveries ({} of responses), {} \
         drops, {} busy retries, {} stalled at the end, {} with a circle of full queues: no \
         difference",
        ran.get(),
        loaded.get(),
        packets.get(),
        delivered.get(),
        responses.get(),
        dropped.get(),
        retries.get(),
        stalls.get(),
        circles.get(),
    );
    // What the comparison rests on must have occurred, and often.
    assert_eq!(ran.get(), u64::from(cases));
    for (what, count, at_least) in [
        ("cases with packets", loaded, 500),
        ("packets", packets, 100_000),
        ("deliveries", delivered, 80_000),
        ("drops", dropped, 10_000),
        ("retries", retries, 50_000),
        ("responses", responses, 20_000),
        ("stalls", stalls, 50),
        ("circles of full queues", circles, 50),
    ] {
        let count = count.get();
        assert!(count >= at_least, "{count} {what}, not {at_least} or more");
    }
}
