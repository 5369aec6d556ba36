//! Complete and incomplete hypercubes: nodes, links and routes.

use isthmus_topology::{Hop, Hypercube, IncompleteHypercube};

/// Checks that a hypercube must have 1 to 20 dimensions.
#[test]
fn dimension_outside_1_to_20_is_refused() {
    for dimension in [0, 21, 32, u32::MAX] {
        let error = Hypercube::new(dimension).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("a hypercube has 1 to 20 dimensions, not {dimension}")
        );
    }
    assert_eq!(Hypercube::new(20).unwrap().node_count(), 1_048_576);
}

/// Checks that a route crosses the differing dimensions from the highest to the lowest.
#[test]
fn route_corrects_the_highest_dimension_first() {
    let cube = Hypercube::new(4).unwrap();
    let hops: Vec<_> = cube
        .route(0b0011, 0b1010)
        .map(|hop| (hop.node, hop.dimension))
        .collect();
    assert_eq!(hops, [(0b0011, 3), (0b1011, 0)]);
}

/// Checks that the e-cube route of each pair is shortest, ends at the destination and crosses
/// dimensions in descending order.
#[test]
fn routes_are_shortest_and_arrive() {
    let cube = Hypercube::new(6).unwrap();
    for from in cube.nodes() {
        for to in cube.nodes() {
            let route = cube.route(from, to);
            assert_eq!(route.clone().count() as u32, cube.distance(from, to));
            let mut at = from;
            let mut above = cube.dimension();
            for hop in route {
                assert_eq!(hop.node, at);
                assert!(hop.dimension < above, "dimensions must fall");
                above = hop.dimension;
                at = hop.target();
            }
            assert_eq!(at, to);
        }
    }
}

/// Checks that each link has a different index below the number of links, from which its hop
/// can be computed.
#[test]
fn link_indices_are_dense_and_invertible() {
    let cube = Hypercube::new(5).unwrap();
    let mut seen = vec![false; cube.link_count()];
    for node in cube.nodes() {
        for dimension in 0..cube.dimension() {
            let link = cube.link(node, dimension);
            assert!(!std::mem::replace(&mut seen[link], true));
            assert_eq!(cube.hop(link), Hop { node, dimension });
        }
    }
    assert!(seen.into_iter().all(|seen| seen));
}

/// Checks that an incomplete hypercube must have 1 to 2^20 nodes.
#[test]
fn node_count_must_be_1_to_2_to_the_20() {
    assert!(IncompleteHypercube::new(0).is_err());
    let error = IncompleteHypercube::new((1 << 20) + 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an incomplete hypercube has 1 to 1048576 nodes, not 1048577"
    );
    assert_eq!(IncompleteHypercube::new(1).unwrap().dimension(), 0);
    assert_eq!(IncompleteHypercube::new(16).unwrap().dimension(), 4);
    assert_eq!(IncompleteHypercube::new(17).unwrap().dimension(), 5);
}

/// Checks that each route is shortest, ends at the destination and passes only existing nodes.
#[test]
fn routes_are_shortest_and_stay_on_existing_nodes() {
    for node_count in 1..=64 {
        let cube = IncompleteHypercube::new(node_count).unwrap();
        for from in cube.nodes() {
            for to in cube.nodes() {
                let route = cube.route(from, to);
                assert_eq!(route.clone().count() as u32, cube.distance(from, to));
                let mut at = from;
                for hop in route {
                    assert_eq!(hop.node, at);
                    at = hop.target();
                    assert!(at < node_count, "{from}->{to} of {node_count} passes {at}");
                }
                assert_eq!(at, to);
            }
        }
    }
}

/// Checks that routes in a complete cube equal those of e-cube routing.
#[test]
fn complete_cubes_route_by_ecube() {
    for dimension in 1..=6 {
        let cube = Hypercube::new(dimension).unwrap();
        let same = IncompleteHypercube::from(cube);
        assert!(same.is_complete());
        assert_eq!(same, IncompleteHypercube::new(1 << dimension).unwrap());
        for from in cube.nodes() {
            for to in cube.nodes() {
                assert!(cube.route(from, to).eq(same.route(from, to)));
            }
        }
    }
}
