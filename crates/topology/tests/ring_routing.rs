//! Routes, averages and the check for circles of waiting queues against all shortest paths of small
//! fabrics.

use std::collections::{BTreeMap, BTreeSet};

use crate::ring_paths::{Naive, Path, distribution, rings};
use isthmus_topology::rings::{
    Averages, Fabric, Faults, LinkUse, Routes, RoutesError, Routing, Shape,
};
use proptest::prelude::*;

const TABLE_RULES: [Routing; 3] = [Routing::Fixed, Routing::Random, Routing::FewestChanges];
const ALL_RULES: [Routing; 4] = [
    Routing::DimensionOrder,
    Routing::Fixed,
    Routing::Random,
    Routing::FewestChanges,
];

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-10
}

/// All that can be said of the routes of a fabric, against the reference.
fn check(fabric: &Fabric, routing: Routing) {
    let naive = Naive::new(fabric);
    let routes = Routes::new(fabric, routing).unwrap();
    let weight = |from: u32, to: u32| f64::from((3 * from + 5 * to) % 7);
    let mut expected = vec![LinkUse::default(); fabric.links().len()];
    let mut waits = BTreeSet::new();
    let (mut total, mut links, mut changes) = (0.0, 0.0, 0.0);
    for &from in fabric.live_nodes() {
        for &to in fabric.live_nodes() {
            if from == to {
                assert_eq!(routes.distance(from, to), 0);
                continue;
            }
            let paths = naive.paths(routing, from, to);
            let share = 1.0 / paths.len() as f64;
            let mut uniform: BTreeMap<Path, f64> = BTreeMap::new();
            for path in &paths {
                *uniform.entry(path.clone()).or_insert(0.0) += share;
            }
            let found = distribution(&routes, from, to);
            assert!(
                found.keys().eq(uniform.keys())
                    && found
                        .values()
                        .zip(uniform.values())
                        .all(|(a, b)| close(*a, *b)),
                "{routing:?}, {from} to {to}: {found:?}, not {uniform:?}"
            );
            assert_eq!(Some(routes.distance(from, to)), naive.distance(from, to));

            total += weight(from, to);
            for path in &paths {
                let amount = share * weight(from, to);
                links += amount * f64::from(routes.distance(from, to));
                changes += amount * (path.len() - 1) as f64;
                walk(fabric, from, path, amount, &mut expected, &mut waits);
            }
        }
    }
    let averages = routes.averages(weight);
    for (link, (found, expected)) in averages.links.iter().zip(&expected).enumerate() {
        let numbers = |link: &LinkUse| {
            [
                link.sends,
                link.echoes,
                link.starts,
                link.entries,
                link.ends,
            ]
        };
        for (found, expected) in numbers(found).into_iter().zip(numbers(expected)) {
            let expected = if total > 0.0 { expected / total } else { 0.0 };
            assert!(
                close(found, expected),
                "link {link}: {found}, not {expected}"
            );
        }
    }
    if total > 0.0 {
        assert!(close(averages.mean_links, links / total));
        assert!(close(averages.mean_changes, changes / total));
        assert!(close(averages.distances.iter().sum(), 1.0));
    }
    let circle = waits_in_a_circle(fabric.links().len(), &waits);
    match routes.check_waiting() {
        Ok(()) => assert!(!circle, "a circle was missed"),
        Err(cycle) => {
            assert!(circle);
            let around = cycle.interfaces.iter().cycle().skip(1);
            for pair in cycle.interfaces.iter().zip(around) {
                assert!(waits.contains(&(*pair.0, *pair.1)), "{cycle}");
            }
        }
    }
}

/// Adds what one path asks of the links, and who waits for whom on it.
fn walk(
    fabric: &Fabric,
    source: u32,
    path: &Path,
    amount: f64,
    links: &mut [LinkUse],
    waits: &mut BTreeSet<(u32, u32)>,
) {
    let mut node = source;
    let mut before = None;
    for segment in path {
        let nodes = &fabric.rings()[segment.ring as usize];
        let enters = nodes.iter().position(|&other| other == node).unwrap();
        let place = |hops: usize| fabric.link(segment.ring, ((enters + hops) % nodes.len()) as u32);
        links[place(0) as usize].starts += amount;
        if before.is_none() {
            links[place(0) as usize].entries += amount;
        }
        let hops = segment.hops as usize;
        for hop in 0..hops {
            links[place(hop) as usize].sends += amount;
        }
        for hop in hops..nodes.len() {
            links[place(hop) as usize].echoes += amount;
        }
        links[place(hops) as usize].ends += amount;
        if let Some(before) = before {
            waits.insert((before, place(hops)));
        }
        before = Some(place(hops));
        node = nodes[(enters + hops) % nodes.len()];
    }
}

/// By transitive closure.
fn waits_in_a_circle(count: usize, waits: &BTreeSet<(u32, u32)>) -> bool {
    let mut reaches = vec![vec![false; count]; count];
    for &(from, to) in waits {
        reaches[from as usize][to as usize] = true;
    }
    for over in 0..count {
        for from in 0..count {
            if reaches[from][over] {
                let further = reaches[over].clone();
                for (to, further) in reaches[from].iter_mut().zip(further) {
                    *to |= further;
                }
            }
        }
    }
    (0..count).any(|interface| reaches[interface][interface])
}

fn small_tori() -> Vec<Shape> {
    let sizes: [&[u32]; 6] = [&[5], &[3, 4], &[4, 4], &[2, 3], &[2, 2, 3], &[5, 3]];
    let mut shapes = vec![
        Shape::Ring { nodes: 5 },
        Shape::CounterRotating { nodes: 2 },
        Shape::CounterRotating { nodes: 6 },
        Shape::CounterRotating { nodes: 7 },
        Shape::UniformRingTorus { sizes: [3, 3] },
        Shape::UniformRingTorus { sizes: [4, 3] },
        Shape::UniformRingTorus { sizes: [4, 4] },
    ];
    for sizes in sizes {
        let sizes = sizes.to_vec();
        shapes.push(Shape::Torus {
            sizes: sizes.clone(),
        });
        shapes.push(Shape::BidirectionalTorus { sizes });
    }
    shapes
}

#[test]
fn tori_take_the_paths_that_the_rules_say() {
    for shape in small_tori() {
        for routing in ALL_RULES {
            check(&Fabric::new(&shape).unwrap(), routing);
        }
    }
}

#[test]
fn so_do_manhattan_street_networks() {
    for sizes in [[2, 2], [4, 2], [4, 4]] {
        let fabric = Fabric::new(&Shape::Manhattan { sizes }).unwrap();
        for routing in TABLE_RULES {
            check(&fabric, routing);
        }
        let refused = Routes::new(&fabric, Routing::DimensionOrder).unwrap_err();
        assert!(matches!(refused, RoutesError::NoDimensions { .. }));
    }
}

#[test]
fn with_any_one_failure_tori_keep_what_they_can() {
    let shapes = [
        Shape::BidirectionalTorus { sizes: vec![4, 3] },
        Shape::Torus { sizes: vec![3, 3] },
        Shape::UniformRingTorus { sizes: [3, 4] },
    ];
    for shape in shapes {
        let fabric = Fabric::new(&shape).unwrap();
        for failure in fabric.single_failures() {
            let faulted = fabric.with_faults(&failure.faults()).unwrap();
            for routing in ALL_RULES {
                check(&faulted, routing);
            }
        }
    }
}

#[test]
fn without_rings_there_are_no_routes() {
    let ring = Fabric::new(&Shape::Ring { nodes: 4 }).unwrap();
    let faults = Faults {
        nodes: vec![],
        links: vec![(2, 3)],
    };
    let faulted = ring.with_faults(&faults).unwrap();
    let refused = Routes::new(&faulted, Routing::DimensionOrder).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "4-node ring: with these faults no node can reach another"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_rings_are_routed_as_the_rules_say(shape in rings()) {
        let fabric = Fabric::new(&shape).unwrap();
        for routing in TABLE_RULES {
            check(&fabric, routing);
        }
    }

    #[test]
    fn any_rings_with_faults_are_routed_over_what_is_left(
        shape in rings(),
        node in prop::option::of(any::<prop::sample::Index>()),
        link in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let fabric = Fabric::new(&shape).unwrap();
        let link = link.map(|index| fabric.links()[index.index(fabric.links().len())]);
        let faults = Faults {
            nodes: node.map(|index| index.index(fabric.node_count() as usize) as u32).into_iter().collect(),
            links: link.map(|link| (link.from, link.to)).into_iter().collect(),
        };
        let faulted = fabric.with_faults(&faults).unwrap();
        let naive = Naive::new(&faulted);
        // The live nodes reach one another, and no larger set of nodes does.
        let nodes = 0..fabric.node_count();
        let part = |node: u32| -> Vec<u32> {
            let joined = |&other: &u32| naive.distance(node, other).is_some() && naive.distance(other, node).is_some();
            nodes.clone().filter(joined).collect()
        };
        let largest = nodes.clone().map(part).max_by_key(|part| (part.len(), std::cmp::Reverse(part[0]))).unwrap();
        let expected = if largest.len() > 1 { largest } else { Vec::new() };
        prop_assert_eq!(faulted.live_nodes(), &expected[..]);
        let others = nodes.filter(|node| !expected.contains(node) && !faults.nodes.contains(node));
        prop_assert_eq!(faulted.cut_off(), &others.collect::<Vec<_>>()[..]);
        for routing in TABLE_RULES {
            if expected.is_empty() {
                let refused = Routes::new(&faulted, routing).unwrap_err();
                let nothing = matches!(refused, RoutesError::NothingLeft { .. });
                prop_assert!(nothing, "{}", refused);
            } else {
                check(&faulted, routing);
            }
        }
    }
}

#[test]
fn mean_distances_are_those_of_the_paper() {
    let averages = |shape: Shape, routing| -> Averages {
        let fabric = Fabric::new(&shape).unwrap();
        Routes::new(&fabric, routing).unwrap().uniform_averages()
    };
    for nodes in 2..12 {
        let count = f64::from(nodes);
        let one_way = averages(Shape::Ring { nodes }, Routing::DimensionOrder);
        assert!(close(one_way.mean_links, count / 2.0));
        // Section 4.1: N^2 / (4 (N - 1)) for even N, (N + 1) / 4 for odd.
        let both_ways = averages(Shape::CounterRotating { nodes }, Routing::DimensionOrder);
        let expected = match nodes % 2 {
            0 => count * count / (4.0 * (count - 1.0)),
            _ => (count + 1.0) / 4.0,
        };
        assert!(close(both_ways.mean_links, expected));
        // Random ties load all links alike.
        let first = both_ways.links[0];
        assert!(
            both_ways
                .links
                .iter()
                .all(|link| close(link.sends, first.sends)
                    && close(link.echoes, first.echoes)
                    && close(link.starts, first.starts))
        );
        // Eq. 3: N / (sqrt(N) + 1).
        let size = nodes;
        let torus = averages(
            Shape::Torus {
                sizes: vec![size; 2],
            },
            Routing::DimensionOrder,
        );
        assert!(close(torus.mean_links, count * count / (count + 1.0)));
    }
}

#[test]
fn paths_beyond_32_bits_are_drawn_evenly_and_beyond_64_refused() {
    let twins = |nodes: u32| {
        let ring: Vec<u32> = (0..nodes).collect();
        Fabric::new(&Shape::Rings(vec![ring.clone(), ring])).unwrap()
    };
    // Either ring for each of 40 links: 2^40 paths.
    let fabric = twins(41);
    let routes = Routes::new(&fabric, Routing::Random).unwrap();
    let mut state = 7u64;
    let mut choose = |limit: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(99);
        ((u64::from((state >> 32) as u32) * u64::from(limit)) >> 32) as u32
    };
    let (mut path, mut segments, mut first, draws) = (Vec::new(), 0, 0, 4000);
    for _ in 0..draws {
        routes.route(0, 40, &mut choose, &mut path);
        assert_eq!(path.iter().map(|segment| segment.hops).sum::<u32>(), 40);
        segments += path.len();
        first += path[0].ring;
    }
    // 39 fair chances to change: mean 20.5 segments, deviation of the mean sqrt(39 / 4 / draws).
    let mean = segments as f64 / f64::from(draws);
    assert!(
        (mean - 20.5).abs() < 4.0 * (39.0 / 4.0 / f64::from(draws)).sqrt(),
        "{mean}"
    );
    assert!((f64::from(first) / f64::from(draws) - 0.5).abs() < 0.04);
    let averages = routes.averages(|from, to| f64::from(u8::from((from, to) == (0, 40))));
    assert!(close(averages.mean_changes, 19.5) && close(averages.mean_links, 40.0));

    let refused = Routes::new(&twins(70), Routing::Random).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "2^64 or more equal paths from node 6 to node 0, too many to draw one of them; the rules \
         fixed and fewest changes leave fewer"
    );
    assert!(Routes::new(&twins(70), Routing::FewestChanges).is_ok());
}
