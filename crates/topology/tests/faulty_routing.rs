//! Routes around faults: they arrive, use working links only, keep whole routes and never deadlock.

use isthmus_topology::{
    CubeFaults, FaultyCube, Hypercube, IncompleteHypercube, RouteError, RoutingScheme,
};
use proptest::prelude::*;

/// Hops of the shortest path of working links between all pairs, by breadth-first search.
fn shortest(faults: &CubeFaults, from: u32) -> Vec<Option<u32>> {
    let mut hops = vec![None; faults.cube().node_count() as usize];
    hops[from as usize] = Some(0);
    let mut reached = vec![from];
    let mut next = 0;
    while next < reached.len() {
        let node = reached[next];
        next += 1;
        for dimension in 0..faults.cube().dimension() {
            let neighbor = node ^ (1 << dimension);
            if faults.is_usable(node, dimension) && hops[neighbor as usize].is_none() {
                hops[neighbor as usize] = hops[node as usize].map(|hops: u32| hops + 1);
                reached.push(neighbor);
            }
        }
    }
    hops
}

/// Checks all pairs; returns the hops made beyond the shortest paths, over all pairs.
fn check_all_pairs(faulty: &FaultyCube) -> u32 {
    let faults = faulty.faults();
    let cube = faults.cube();
    let mut extra = 0;
    for from in cube.nodes() {
        let shortest = shortest(faults, from);
        for to in cube.nodes() {
            match faulty.route(from, to) {
                Err(RouteError::FailedNode { failed, .. }) => {
                    assert!(faults.is_failed(failed) && (failed == from || failed == to));
                }
                Err(RouteError::Disconnected { .. }) => {
                    assert_eq!(shortest[to as usize], None);
                }
                Ok(route) => {
                    let hops: Vec<_> = route.collect();
                    let mut at = from;
                    for hop in &hops {
                        assert_eq!(hop.node, at);
                        assert!(faults.is_usable(hop.node, hop.dimension));
                        at = hop.target();
                    }
                    assert_eq!(at, to);
                    extra += hops.len() as u32 - shortest[to as usize].unwrap();
                    let own: Vec<_> = cube.route(from, to).collect();
                    let whole = own
                        .iter()
                        .all(|hop| faults.is_usable(hop.node, hop.dimension));
                    if whole && faulty.scheme() != RoutingScheme::UpDown {
                        assert_eq!(hops, own, "{from} to {to} was not broken");
                    }
                }
            }
        }
    }
    if let Err(cycle) = faulty.dependencies().check() {
        panic!("{:?}: {cycle}", faulty.scheme());
    }
    extra
}

#[test]
fn without_faults_all_pairs_keep_their_routes() {
    let faulty = FaultyCube::new(CubeFaults::none(Hypercube::new(5).unwrap()));
    assert_eq!(faulty.scheme(), RoutingScheme::Unaffected);
    assert_eq!(check_all_pairs(&faulty), 0);
}

#[test]
fn any_one_failed_link_is_routed_around_by_shortest_detours() {
    for dimension in 2..=5 {
        let cube = Hypercube::new(dimension).unwrap();
        for along in 0..dimension {
            let faults = CubeFaults::new(cube, &[], &[(0, 1 << along)]).unwrap();
            let faulty = FaultyCube::new(faults);
            let affected = cube.node_count() as usize;
            assert_eq!(faulty.scheme(), RoutingScheme::Detours { affected });
            assert_eq!(check_all_pairs(&faulty), 0);
        }
    }
}

#[test]
fn any_one_failed_node_is_routed_around_by_shortest_detours() {
    for dimension in 2..=6 {
        let cube = Hypercube::new(dimension).unwrap();
        let faults = CubeFaults::new(cube, &[cube.node_count() / 3], &[]).unwrap();
        let faulty = FaultyCube::new(faults);
        if dimension > 2 {
            assert!(matches!(faulty.scheme(), RoutingScheme::Detours { .. }));
        }
        assert_eq!(check_all_pairs(&faulty), 0, "{dimension} dimensions");
    }
}

#[test]
fn incomplete_cubes_route_around_failed_links_too() {
    for node_count in 3..=20 {
        let cube = IncompleteHypercube::new(node_count).unwrap();
        for (from, to) in [(0, 1), (0, 2), (2, 0)] {
            let faults = CubeFaults::new(cube, &[], &[(from, to)]).unwrap();
            check_all_pairs(&FaultyCube::new(faults));
        }
    }
}

#[test]
fn cut_off_pairs_are_named() {
    let cube = Hypercube::new(2).unwrap();
    let faults = CubeFaults::new(cube, &[2], &[(0, 1)]).unwrap();
    let faulty = FaultyCube::new(faults);
    assert_eq!(
        faulty.route(0, 3).unwrap_err().to_string(),
        "no route from node 0 to node 3: the faults cut them off from each other"
    );
    assert_eq!(
        faulty.route(1, 2).unwrap_err().to_string(),
        "no route from node 1 to node 2: node 2 has failed"
    );
    assert_eq!(faulty.route(1, 3).unwrap().count(), 1);
    assert_eq!(
        faulty.faults().check_connected().unwrap_err().to_string(),
        "the faults cut the network apart: 4 ordered pairs of working nodes have no path, the \
         first from node 0 to node 1"
    );
}

#[test]
fn a_tree_of_links_is_left_to_up_down_or_detours_but_never_deadlocks() {
    // All links fail but those of a spanning tree over a Gray code: one path joins all nodes.
    let cube = Hypercube::new(4).unwrap();
    let gray = |index: u32| index ^ (index >> 1);
    let kept: Vec<_> = (0..15)
        .map(|index| (gray(index), gray(index + 1)))
        .collect();
    let mut links = Vec::new();
    for from in cube.nodes() {
        for to in cube.neighbors(from).filter(|&to| from < to) {
            if !kept.contains(&(from, to)) && !kept.contains(&(to, from)) {
                links.push((from, to));
            }
        }
    }
    let faulty = FaultyCube::new(CubeFaults::new(cube, &[], &links).unwrap());
    // On a tree all routes are shortest, whatever the scheme.
    assert_eq!(check_all_pairs(&faulty), 0);
    assert_eq!(faulty.route(gray(0), gray(15)).unwrap().count(), 15);
}

#[test]
fn local_detours_are_shortest_around_one_fault() {
    for dimension in 2..=6 {
        let cube = Hypercube::new(dimension).unwrap();
        for along in 0..dimension {
            let faults = CubeFaults::new(cube, &[], &[(1, 1 ^ 1 << along)]).unwrap();
            let faulty = FaultyCube::with_search_limit(faults, 0);
            assert!(matches!(
                faulty.scheme(),
                RoutingScheme::LocalDetours { .. }
            ));
            assert_eq!(check_all_pairs(&faulty), 0);
        }
        if dimension > 2 {
            let faults = CubeFaults::new(cube, &[5], &[]).unwrap();
            let faulty = FaultyCube::with_search_limit(faults, 0);
            assert!(matches!(
                faulty.scheme(),
                RoutingScheme::LocalDetours { .. }
            ));
            assert_eq!(check_all_pairs(&faulty), 0);
        }
    }
}

#[test]
fn a_local_detour_goes_on_past_a_failed_node() {
    // From 0 to 14 the link to 8 is broken and node 12 after it has failed.
    let cube = Hypercube::new(4).unwrap();
    let faults = CubeFaults::new(cube, &[12], &[(0, 8)]).unwrap();
    let faulty = FaultyCube::with_search_limit(faults, 0);
    assert!(matches!(
        faulty.scheme(),
        RoutingScheme::LocalDetours { .. }
    ));
    assert_eq!(faulty.route(0, 14).unwrap().count(), 3);
    check_all_pairs(&faulty);
}

#[test]
fn twenty_dimensions_take_local_detours() {
    let cube = Hypercube::new(20).unwrap();
    let faults = CubeFaults::new(cube, &[77_777], &[(0, 1), (1 << 19, 1 << 19 | 32)]).unwrap();
    let faulty = FaultyCube::new(faults);
    assert!(matches!(
        faulty.scheme(),
        RoutingScheme::LocalDetours { .. }
    ));
    for (from, to) in [
        (77_776, 77_779),
        (1 << 19, 33),
        (3, 1 << 19 | 1),
        (0xfffff, 1),
    ] {
        let hops: Vec<_> = faulty.route(from, to).unwrap().collect();
        assert!(
            hops.iter()
                .all(|hop| faulty.faults().is_usable(hop.node, hop.dimension))
        );
        assert_eq!(hops.last().unwrap().target(), to);
        assert_eq!(hops.len() as u32, cube.distance(from, to));
    }
    assert_eq!(faulty.route(0, 1).unwrap().count(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_local_detours_never_deadlock(
        dimension in 3u32..7,
        nodes in prop::collection::vec(any::<u32>(), 0..3),
        links in prop::collection::vec((any::<u32>(), any::<u32>()), 0..8),
    ) {
        let cube = Hypercube::new(dimension).unwrap();
        let nodes: Vec<_> = nodes.into_iter().map(|node| node % cube.node_count()).collect();
        let links: Vec<_> = links
            .into_iter()
            .map(|(node, along)| (node % cube.node_count(), along % dimension))
            .map(|(node, along)| (node, cube.neighbor(node, along)))
            .collect();
        let faults = CubeFaults::new(cube, &nodes, &links).unwrap();
        check_all_pairs(&FaultyCube::with_search_limit(faults, 0));
    }

    #[test]
    fn random_faults_never_deadlock(
        node_count in 2u32..48,
        nodes in prop::collection::vec(any::<u32>(), 0..4),
        links in prop::collection::vec((any::<u32>(), any::<u32>()), 0..24),
    ) {
        let cube = IncompleteHypercube::new(node_count).unwrap();
        let nodes: Vec<_> = nodes.into_iter().map(|node| node % node_count).collect();
        let links: Vec<_> = links
            .into_iter()
            .map(|(node, dimension)| (node % node_count, dimension % cube.dimension()))
            .filter_map(|(node, dimension)| Some((node, cube.neighbor(node, dimension)?)))
            .collect();
        check_all_pairs(&FaultyCube::new(CubeFaults::new(cube, &nodes, &links).unwrap()));
    }
}

#[test]
fn ten_dimensions_with_scattered_faults_keep_their_detours() {
    let cube = Hypercube::new(10).unwrap();
    let faults = CubeFaults::new(cube, &[77, 700], &[(0, 1), (5, 517), (1000, 1001)]).unwrap();
    let faulty = FaultyCube::new(faults);
    assert!(matches!(faulty.scheme(), RoutingScheme::Detours { .. }));
    for (from, to) in [(0, 1), (76, 79), (1023, 0), (5, 512)] {
        let route = faulty.route(from, to).unwrap();
        assert!(route.count() as u32 <= cube.distance(from, to) + 2);
    }
}
