//! The check for deadlock, on cubes, rings and graphs of channels.

use isthmus_topology::deadlock::{Dependencies, check};
use isthmus_topology::{Hypercube, IncompleteHypercube};

/// Return the links that an e-cube route may cross right after `link`.
fn ecube_successors(cube: Hypercube, link: usize) -> impl Iterator<Item = usize> {
    let hop = cube.hop(link);
    (0..hop.dimension).map(move |dimension| cube.link(hop.target(), dimension))
}

/// Checks that e-cube routing is free of deadlock in cubes of up to 14 dimensions, and channel
/// numbers increase along routes.
#[test]
fn ecube_is_free_of_deadlock_in_up_to_14_dimensions() {
    for dimension in (1..=10).chain([14]) {
        let cube = Hypercube::new(dimension).unwrap();
        let numbering = check(cube.link_count(), |link| ecube_successors(cube, link)).unwrap();
        for (from, to) in [(0, cube.node_count() - 1), (cube.node_count() / 3, 1)] {
            let path = cube
                .route(from, to)
                .map(|hop| numbering.numbers()[cube.link(hop.node, hop.dimension)]);
            assert!(path.is_sorted_by(|one, next| one < next));
        }
    }
}

/// Checks that the formula for the successors of a link gives the same links as all e-cube
/// routes.
#[test]
fn the_successors_of_a_link_are_those_of_all_ecube_paths() {
    let cube = Hypercube::new(5).unwrap();
    let mut dependencies = Dependencies::new(cube.link_count());
    for from in cube.nodes() {
        for to in cube.nodes() {
            let route = cube.route(from, to);
            dependencies.add_path(route.map(|hop| cube.link(hop.node, hop.dimension)));
        }
    }
    for link in 0..cube.link_count() {
        let expected: Vec<_> = ecube_successors(cube, link).collect();
        assert_eq!(dependencies.successors(link), expected);
    }
}

/// Checks that routes in incomplete cubes of 1 to 64 nodes are free of deadlock, and their
/// successors are correct.
#[test]
fn incomplete_cubes_are_free_of_deadlock_for_all_counts_up_to_64() {
    for node_count in 1..=64 {
        let cube = IncompleteHypercube::new(node_count).unwrap();
        let mut dependencies = Dependencies::new(cube.link_count());
        for from in cube.nodes() {
            for to in cube.nodes() {
                let route = cube.route(from, to);
                dependencies.add_path(route.map(|hop| cube.link(hop.node, hop.dimension)));
            }
        }
        if let Err(cycle) = dependencies.check() {
            panic!("{node_count} nodes: {cycle}");
        }
        for link in 0..cube.link_count() {
            let found: Vec<_> = cube.successors(link).collect();
            assert_eq!(found, dependencies.successors(link), "{node_count}: {link}");
        }
    }
}

/// Checks that the check finds the cycle of channels in a ring with shortest paths.
#[test]
fn a_ring_with_shortest_paths_has_a_cycle() {
    // Channel i leads clockwise from node i, channel 6 + i counterclockwise from node i.
    let mut dependencies = Dependencies::new(12);
    for from in 0..6 {
        for hops in 1..=3 {
            dependencies.add_path((0..hops).map(|hop| (from + hop) % 6));
            dependencies.add_path((0..hops).map(|hop| 6 + (from + 6 - hop) % 6));
        }
    }
    let cycle = dependencies.check().unwrap_err();
    assert_eq!(cycle.channels, [0, 1, 2, 3, 4, 5]);
    assert_eq!(
        cycle.to_string(),
        "deadlock is possible: channels 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 0"
    );
}

/// Checks that the check finds a cycle if some sources correct the dimensions in the opposite
/// order.
#[test]
fn different_dimension_orders_have_a_cycle() {
    let cube = Hypercube::new(3).unwrap();
    let mut dependencies = Dependencies::new(cube.link_count());
    for from in cube.nodes() {
        for to in cube.nodes() {
            // Build the path. Sources with odd numbers correct the lowest dimension first,
            // other sources the highest.
            let mut path: Vec<usize> = Vec::new();
            let mut at = from;
            while at != to {
                let differing = at ^ to;
                let dimension = if from % 2 == 1 {
                    differing.trailing_zeros()
                } else {
                    differing.ilog2()
                };
                path.push(cube.link(at, dimension));
                at = cube.neighbor(at, dimension);
            }
            dependencies.add_path(path);
        }
    }
    let cycle = dependencies.check().unwrap_err().channels;
    assert!(
        cycle.len() >= 4,
        "two opposite links never wait for each other here"
    );
    for (index, &held) in cycle.iter().enumerate() {
        let asked = cycle[(index + 1) % cycle.len()];
        assert!(dependencies.successors(held).contains(&asked));
    }
}

/// Checks that a channel that waits for itself is reported as a cycle of one channel.
#[test]
fn a_channel_that_waits_for_itself_is_a_cycle() {
    let cycle = check(1, |_| [0]).unwrap_err();
    assert_eq!(cycle.channels, [0]);
}

/// Checks that each channel has a different number.
#[test]
fn channel_numbers_are_distinct() {
    let numbering = check(4, |channel| (channel < 2).then_some(channel + 2)).unwrap();
    let mut numbers = numbering.numbers().to_vec();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3]);
}
