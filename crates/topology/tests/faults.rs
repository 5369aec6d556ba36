//! Faults of hypercubes: parts out of service, and nodes that are cut off.

use isthmus_topology::{
    CubeFaults, FaultyCube, Hop, Hypercube, IncompleteHypercube, RoutingScheme,
};

/// Checks that failed nodes outside the cube and failed links between nodes that are not neighbours are refused.
#[test]
fn faults_that_do_not_exist_are_refused() {
    let cube = Hypercube::new(3).unwrap();
    let error = CubeFaults::new(cube, &[8], &[]).unwrap_err();
    assert_eq!(error.to_string(), "failed node 8, but the nodes are 0 to 7");
    let error = CubeFaults::new(cube, &[], &[(0, 3)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed link 0-3, but 0 and 3 are not neighbours: their addresses differ in 2 bits, not 1"
    );
    assert!(CubeFaults::new(cube, &[], &[(1, 9)]).is_err());
    assert!(CubeFaults::new(cube, &[], &[(1, 1)]).is_err());
    let io_cube = IncompleteHypercube::new(5).unwrap();
    assert!(CubeFaults::new(io_cube, &[5], &[]).is_err());
}

/// Checks that all links of a failed node are unusable.
#[test]
fn a_failed_node_takes_its_links_with_it() {
    let faults = CubeFaults::new(Hypercube::new(3).unwrap(), &[0], &[(6, 7)]).unwrap();
    assert!(faults.is_failed(0));
    assert!(!faults.is_usable(1, 0) && !faults.is_usable(2, 1) && !faults.is_usable(4, 2));
    assert!(!faults.is_usable(6, 0) && !faults.is_usable(7, 0));
    assert!(faults.is_usable(1, 1));
    assert_eq!(faults.usable_dimensions(7).collect::<Vec<_>>(), [2, 1]);
    let links = (0..8).flat_map(|node| (0..3).map(move |dimension| (node, dimension)));
    let unusable = links.filter(|&(node, dimension)| !faults.is_usable(node, dimension));
    assert_eq!(unusable.count(), 8);
    let links: Vec<_> = faults.working_links().collect();
    let expected = [
        (1, 3),
        (1, 5),
        (2, 3),
        (2, 6),
        (3, 7),
        (4, 5),
        (4, 6),
        (5, 7),
    ];
    assert_eq!(links, expected);
    assert_eq!(faults.check_connected(), Ok(()));
}

/// Checks that the error for a disconnected cube contains the number of unreachable pairs.
#[test]
fn cut_off_nodes_are_counted() {
    // Node 0 works, but all its links have failed, so 7 pairs are unreachable in each
    // direction.
    let links = [(0, 1), (0, 2), (0, 4)];
    let faults = CubeFaults::new(Hypercube::new(3).unwrap(), &[], &links).unwrap();
    let error = faults.check_connected().unwrap_err();
    assert_eq!((error.from, error.to, error.pair_count), (0, 1, 14));
    assert!(!faults.is_reachable(0, 5) && faults.is_reachable(0, 0));
}

/// Checks that the pairs with a detour are exactly those whose e-cube route crosses a failed node or link, and that
/// there are no detours of pairs if the search for them would take too long.
#[test]
fn affected_pairs_are_those_of_all_routes() {
    let cubes = [
        Hypercube::new(4).unwrap().into(),
        IncompleteHypercube::new(13).unwrap(),
    ];
    for cube in cubes {
        let faults = CubeFaults::new(cube, &[6], &[(0, 1), (9, 11)]).unwrap();
        let faulty = FaultyCube::new(faults.clone());
        let mut affected = 0;
        for from in faults.working_nodes() {
            for to in faults.working_nodes() {
                let is_usable = |hop: Hop| faults.is_usable(hop.node, hop.dimension);
                if cube.route(from, to).all(is_usable) {
                    assert!(faulty.route(from, to).unwrap().eq(cube.route(from, to)));
                } else {
                    affected += 1;
                }
            }
        }
        assert_eq!(faulty.scheme(), RoutingScheme::Detours { affected });
        let limited = FaultyCube::with_search_limit(faults, 10).scheme();
        assert!(!matches!(limited, RoutingScheme::Detours { .. }));
    }
}
