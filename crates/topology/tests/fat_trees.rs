//! Fat trees against their recursive definition: links, routes, shares of bundles.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree_paths::{Levels, Naive, find_route, levels, place, shape, steps};
use isthmus_topology::trees::{Ascent, LinkKind, Ports, Shape, Tree, TreesError, Vertex};
use proptest::prelude::*;

const RULES: [Ascent; 4] = [
    Ascent::Adaptive,
    Ascent::Destination,
    Ascent::Source,
    Ascent::Random,
];

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9 * (1.0 + expected.abs())
}

fn tree(levels: &Levels) -> Tree {
    Tree::new(&shape(levels)).unwrap()
}

fn quaternary() -> Tree {
    Tree::new(&Shape::KAry {
        arity: 4,
        levels: 3,
    })
    .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn trees_are_joined_as_they_are_defined(levels in levels()) {
        let (tree, naive) = (tree(&levels), Naive::new(&levels));
        prop_assert_eq!(tree.node_count(), naive.nodes);
        prop_assert_eq!(tree.shape().node_count().unwrap(), naive.nodes);
        prop_assert_eq!(tree.switch_count() as usize, naive.down.len());
        let mut seen = BTreeSet::new();
        let nodes = (0..tree.node_count()).map(Vertex::Node);
        for vertex in nodes.chain((0..tree.switch_count()).map(Vertex::Switch)) {
            let at = place(&tree, vertex);
            prop_assert_eq!(tree.level_of(vertex) as usize, at.0);
            let ports = |links: std::ops::Range<u32>| -> Vec<_> {
                links.map(|link| place(&tree, tree.target(link))).collect()
            };
            prop_assert_eq!(Some(ports(tree.ascents(vertex))), naive.up.get(&at).cloned().or(Some(vec![])));
            prop_assert_eq!(Some(ports(tree.all_descents(vertex))), naive.down.get(&at).cloned().or(Some(vec![])));
            for link in tree.ascents(vertex).chain(tree.all_descents(vertex)) {
                prop_assert!(seen.insert(link) && link < tree.link_count());
                let found = tree.link(link);
                prop_assert_eq!(found.from, vertex);
                let back = tree.reverse(link);
                prop_assert_eq!((tree.link(back).from, tree.link(back).to), (found.to, found.from));
                prop_assert_eq!(tree.reverse(back), link);
            }
        }
        prop_assert_eq!(seen.len(), tree.link_count() as usize);
        // Each link is in one bundle.
        let mut bundled: Vec<u32> = (0..tree.bundle_count()).flat_map(|bundle| tree.bundle_links(bundle)).collect();
        bundled.sort_unstable();
        prop_assert!(bundled.into_iter().eq(seen));
    }

    #[test]
    fn routes_and_shares_are_those_of_all_paths(
        levels in levels(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..12),
    ) {
        let (tree, naive) = (tree(&levels), Naive::new(&levels));
        let steps = steps(&tree);
        let nodes = tree.node_count() as usize;
        let pairs: Vec<(u32, u32)> = picks
            .iter()
            .map(|(from, to)| (from.index(nodes) as u32, to.index(nodes) as u32))
            .collect();
        for rule in RULES {
            let mut path = Vec::new();
            for &(source, destination) in &pairs {
                let routes = naive.routes(rule, source, destination);
                let mut shares = vec![0.0; tree.link_count() as usize];
                let mut all = BTreeSet::new();
                for (probability, route) in routes {
                    let route: Vec<u32> = route.iter().map(|step| steps[step]).collect();
                    prop_assert_eq!(route.len() as u32, 2 * tree.level_between(source, destination));
                    prop_assert!(route.windows(2).all(|pair| pair[0] < pair[1]), "numbers rise");
                    for &link in &route {
                        shares[link as usize] += probability;
                    }
                    all.insert(route);
                }
                for turn in 0..4 {
                    let mut choose = |links: std::ops::Range<u32>| {
                        links.start + (turn * 7 + links.start) % links.len() as u32
                    };
                    find_route(&tree, rule, source, destination, &mut choose, &mut path);
                    prop_assert!(all.contains(&path), "{:?}: {:?} of {:?}", rule, path, all);
                }
                // Over whichever link of a bundle it goes, it goes over the bundle.
                let found: BTreeMap<u32, f64> = tree.bundle_shares(source, &[destination]).into_iter().collect();
                for bundle in 0..tree.bundle_count() {
                    let expected: f64 = tree.bundle_links(bundle).map(|link| shares[link as usize]).sum();
                    prop_assert!(close(found.get(&bundle).copied().unwrap_or(0.0), expected));
                }
            }
        }
    }

    #[test]
    fn shares_of_many_are_those_of_their_pairs(
        levels in levels(),
        sources in prop::collection::vec(any::<prop::sample::Index>(), 1..9),
        destinations in prop::collection::vec(any::<prop::sample::Index>(), 1..9),
    ) {
        let tree = tree(&levels);
        let nodes = tree.node_count() as usize;
        let pick = |picks: &[prop::sample::Index]| -> Vec<u32> {
            picks.iter().map(|pick| pick.index(nodes) as u32).collect()
        };
        let (sources, destinations) = (pick(&sources), pick(&destinations));
        for &source in &sources {
            let others: Vec<u32> = destinations.iter().copied().filter(|&other| other != source).collect();
            let mut expected = vec![0.0; tree.bundle_count() as usize];
            for &destination in &others {
                for (bundle, share) in tree.bundle_shares(source, &[destination]) {
                    expected[bundle as usize] += share / others.len() as f64;
                }
            }
            let mut found = vec![0.0; tree.bundle_count() as usize];
            for (bundle, share) in tree.bundle_shares(source, &destinations) {
                prop_assert!(share > 0.0);
                found[bundle as usize] += share;
            }
            prop_assert!(found.iter().zip(&expected).all(|(a, b)| close(*a, *b)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn no_packets_wait_in_a_circle(levels in levels()) {
        let (tree, naive) = (tree(&levels), Naive::new(&levels));
        let numbering = tree.check_deadlock().unwrap();
        let steps = steps(&tree);
        for source in 0..tree.node_count().min(7) {
            for destination in 0..tree.node_count() {
                for (_, route) in naive.routes(Ascent::Adaptive, source, destination) {
                    let route: Vec<usize> = route.iter().map(|step| steps[step] as usize).collect();
                    let numbers = route.iter().map(|&link| numbering.numbers()[link]);
                    prop_assert!(numbers.is_sorted_by(|one, next| one < next));
                    for pair in route.windows(2) {
                        let mut next = tree.successors(pair[0] as u32);
                        prop_assert!(next.any(|next| next as usize == pair[1]));
                    }
                }
            }
        }
        for link in 0..tree.link_count() {
            prop_assert!(tree.successors(link).all(|next| next > link));
        }
    }
}

#[test]
fn the_tree_of_the_qsnet_paper_is_the_one_of_its_reading() {
    let tree = quaternary();
    assert_eq!(tree.name(), "4-ary 3-tree");
    // n k^(n - 1) switches (section 2.2).
    assert_eq!((tree.node_count(), tree.switch_count()), (64, 3 * 16));
    let switch = |level: u32, index: u32| Vertex::Switch(tree.switches_of(level).start + index);
    for node in 0..64 {
        let leaf = tree.target(tree.ascents(Vertex::Node(node)).start);
        assert_eq!(leaf, switch(1, node / 4));
        for (j, up) in (0..).zip(tree.ascents(leaf)) {
            let second = tree.target(up);
            assert_eq!(second, switch(2, node / 16 * 4 + j));
            for (k, up) in (0..).zip(tree.ascents(second)) {
                assert_eq!(tree.target(up), switch(3, j * 4 + k));
            }
        }
    }
    assert!(tree.ascents(switch(3, 5)).is_empty());
    let at_level = |level| {
        (0..64)
            .filter(|&to| tree.level_between(0, to) == level)
            .count()
    };
    assert_eq!([0, 1, 2, 3].map(at_level), [1, 3, 12, 48]);
}

/// What crosses each link if each node sends one in all to these destinations alike.
fn loads(tree: &Tree, rule: Ascent, destinations: &[u32]) -> Vec<f64> {
    let mut loads = vec![0.0; tree.link_count() as usize];
    let mut path = Vec::new();
    for source in 0..tree.node_count() {
        let others = destinations.iter().filter(|&&other| other != source);
        let share = 1.0 / others.clone().count() as f64;
        for &destination in others {
            let mut never = |_: std::ops::Range<u32>| unreachable!("the rule says which");
            find_route(tree, rule, source, destination, &mut never, &mut path);
            for &link in &path {
                loads[link as usize] += share;
            }
        }
    }
    loads
}

#[test]
fn uniform_traffic_asks_of_all_links_alike() {
    let everyone: Vec<u32> = (0..64).collect();
    let tree = quaternary();
    for rule in [Ascent::Destination, Ascent::Source] {
        for (number, load) in (0..).zip(loads(&tree, rule, &everyone)) {
            let link = tree.link(number);
            // Of 63 others 60 are behind other leaf switches, 48 in other groups.
            let expected = match link.level {
                0 => 1.0,
                1 => 60.0 / 63.0,
                _ => 48.0 / 63.0,
            };
            assert!(close(load, expected), "{rule:?}: {link} {load}");
        }
    }
}

#[test]
fn servers_at_a_stride_meet_on_the_way_up_if_their_numbers_choose_it() {
    // All multiples of 8 are 0 mod 4, so that all packets leave a leaf switch by the same port.
    let tree = quaternary();
    let servers: Vec<u32> = (0..8).map(|server| 8 * server).collect();
    let most = |rule| -> f64 {
        let up = (0..)
            .zip(loads(&tree, rule, &servers))
            .filter(|&(link, _)| {
                let link = tree.link(link);
                (link.kind, link.level) == (LinkKind::Up, 1)
            });
        up.map(|(_, load)| load).fold(0.0, f64::max)
    };
    assert!(most(Ascent::Destination) > 3.5 * most(Ascent::Source));
}

#[test]
fn trees_that_facilities_buy() {
    let ports = |down, up| Ports { down, up };
    let shape =
        |nodes, list: &[Ports]| Shape::from_ports(nodes, list).map(|shape| shape.to_string());
    assert_eq!(
        shape(64, &[ports(4, 4), ports(4, 4), ports(4, 0)]).unwrap(),
        "XGFT(3; 4,4,4; 1,4,4)"
    );
    // 2:1 at the leaf; the spine has ports for four links to each of four leaf switches.
    assert_eq!(
        shape(64, &[ports(16, 8), ports(16, 0)]).unwrap(),
        "PGFT(2; 16,4; 1,2; 1,4)"
    );
    let tapered = Shape::tapered(4, 3, 2).unwrap();
    assert_eq!(tapered.to_string(), "XGFT(3; 4,4,4; 1,2,4)");
    let tree = Tree::new(&tapered).unwrap();
    assert_eq!((tree.node_count(), tree.switch_count()), (64, 16 + 8 + 8));

    let message = |nodes, list: &[Ports]| shape(nodes, list).unwrap_err().to_string();
    assert!(message(100, &[ports(16, 8), ports(16, 0)]).contains("does not close"));
    assert!(message(64, &[ports(16, 6), ports(16, 0)]).contains("divides neither evenly"));
    assert!(message(64, &[ports(16, 8), ports(16, 4)]).contains("lead nowhere"));
    assert!(message(0, &[ports(16, 0)]).contains("does not close"));
    assert!(message(8, &[ports(16, 0)]).contains("does not close"));
    assert_eq!(Shape::from_ports(64, &[]), Err(TreesError::NoLevels));
    assert_eq!(
        Shape::tapered(4, 2, 3).unwrap_err().to_string(),
        "a taper of 3 to 1 does not divide the 4 links of a leaf switch; a tree tapered so does not \
         close"
    );
    assert!(Shape::tapered(4, 2, 0).is_err());
}

#[test]
fn trees_that_cannot_be_are_refused() {
    let k_ary = |arity, levels| Tree::new(&Shape::KAry { arity, levels }).unwrap_err();
    assert_eq!(k_ary(4, 0), TreesError::NoLevels);
    assert_eq!(
        k_ary(1, 3).to_string(),
        "a 1-ary tree; a switch needs at least 2 links down"
    );
    assert_eq!(k_ary(0, 60), TreesError::SmallArity { arity: 0 });
    assert_eq!(k_ary(2, 17), TreesError::TooManyNodes { nodes: 131_072 });
    assert_eq!(
        k_ary(2, 4_000_000_000),
        TreesError::TooManyNodes { nodes: u64::MAX }
    );
    assert_eq!(
        k_ary(5000, 1).to_string(),
        "5000 ports of a switch of level 1; 4096 is the most"
    );
    let general = |down: &[u32], up: &[u32], parallel: &[u32]| {
        let shape = Shape::Generalised {
            down: down.to_vec(),
            up: up.to_vec(),
            parallel: parallel.to_vec(),
        };
        Tree::new(&shape).unwrap_err().to_string()
    };
    assert_eq!(
        general(&[4, 4], &[1], &[1, 1]),
        "2 levels by the links down, 1 by the links up, 2 by the parallel links; each list needs one \
         entry for each level of switches, that of the leaf switches first"
    );
    assert_eq!(general(&[], &[], &[]), TreesError::NoLevels.to_string());
    assert_eq!(
        general(&[4, 4], &[1, 0], &[1, 1]),
        "level 2 has no links up to it; a tree needs at least one there to close"
    );
    assert!(general(&[0, 4], &[1, 1], &[1, 1]).contains("level 1 has no links down"));
    assert!(general(&[4], &[1], &[0]).contains("links between a switch and a child"));
    assert_eq!(
        general(&[1, 1], &[1, 1], &[1, 1]),
        "a tree of one node; there must be at least 2"
    );
    assert!(general(&[u32::MAX; 9], &[1; 9], &[1; 9]).contains("65536 at most"));
    assert!(general(&[2], &[u32::MAX], &[u32::MAX]).contains("ports of a node"));
    let many = general(
        &[2; 16],
        &[1, 64, 64, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2],
        &[1; 16],
    );
    assert!(
        many.contains("directed links; a tree may have 4194304 at most"),
        "{many}"
    );
}
