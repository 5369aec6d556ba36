//! Replacement of failed I/O nodes.

use isthmus_topology::{CubeFaults, Graph, Hypercube, Placement};

/// Checks that the nearest working I/O node replaces a failed one.
#[test]
fn the_nearest_io_node_replaces_a_failed_one() {
    let cube = Hypercube::new(7).unwrap();
    let placement = Placement::hamming(cube).unwrap();
    let clients = placement.coverage().served();
    let address = placement.forwarding(&cube, &[0, 5], clients).unwrap();
    for index in 0..16u32 {
        let replacement = address[index as usize];
        if [0, 5].contains(&index) {
            let pes = placement.io_nodes();
            // The I/O nodes are at the words of a code with distance 3, so the nearest other
            // I/O nodes are exactly 3 hops away.
            assert_eq!(
                cube.distance(pes[index as usize], pes[replacement as usize]),
                3
            );
            assert!(![0, 5].contains(&replacement));
        } else {
            assert_eq!(replacement, index);
        }
    }
    assert_ne!(address[0], address[5]);
}

/// Checks that of equally near I/O nodes, the one with the fewest PEs replaces a failed one.
#[test]
fn neighbours_share_the_load_of_failed_nodes() {
    // Each PE of a square has an I/O node, so both neighbours of a failed one are equally near.
    // An I/O node that serves only its own PE is preferred to one that already serves two.
    let cube = Hypercube::new(2).unwrap();
    let placement = Placement::list(&cube, &[0, 1, 2, 3]).unwrap();
    let taken = placement.forwarding(&cube, &[0, 3], &[1; 4]);
    assert_eq!(taken, Ok(vec![1, 1, 2, 2]));
    // An I/O node that serves only its own PE is preferred to one that already serves two.
    let taken = placement.forwarding(&cube, &[0], &[1, 2, 1, 1]);
    assert_eq!(taken, Ok(vec![2, 1, 2, 3]));
}

/// Checks that the clients of an I/O node on a failed PE use the nearest other I/O nodes. The
/// I/O nodes of the 4-cube are at 0, 7, 9 and 14. PE 9, whose I/O node serves 8, 9, 11 and 13,
/// has failed.
#[test]
fn clients_of_a_failed_pe_use_the_nearest_io_node() {
    let cube = Hypercube::new(4).unwrap();
    let placement = Placement::combined(cube);
    assert_eq!(placement.io_nodes(), [0, 7, 9, 14]);
    let pes = CubeFaults::new(cube, &[9], &[]).unwrap();
    let clients = placement.clients(&pes);
    let address = placement.forwarding(&cube, &[2], &clients).unwrap();
    // I/O node 2 has failed with its PE 9. The I/O node at PE 0 is two hops from PE 9, those at
    // PEs 7 and 14 are three hops away.
    assert_eq!(address, [0, 1, 0, 3]);
    let server_of_each = placement.server_of_each(cube, &pes, &address);
    for pe in cube.nodes() {
        let hops = |node: usize| cube.distance(pe, placement.io_nodes()[node]);
        match server_of_each[pe as usize] {
            None => assert_eq!(pe, 9),
            Some(node) => {
                let nearest = [0, 1, 3].map(hops).into_iter().min().unwrap();
                assert_eq!(hops(node as usize), nearest, "PE {pe}");
            }
        }
    }
    // The PE 8 is one hop from 0; the PEs 11 and 13 are two hops from 7 and 14.
    assert_eq!(server_of_each[8], Some(0));
    assert_eq!((server_of_each[11], server_of_each[13]), (Some(1), Some(3)));
}

/// Checks that failed PEs have no I/O node and do not count as clients. The 3-cube has I/O
/// nodes at two opposite corners, which serve four PEs each. Two PEs of the first have failed.
#[test]
fn failed_pes_are_not_served() {
    let cube = Hypercube::new(3).unwrap();
    let placement = Placement::list(&cube, &[0, 7]).unwrap();
    let pes = CubeFaults::new(cube, &[1, 2], &[]).unwrap();
    assert_eq!(placement.clients(&pes), [2, 4]);
    let server_of_each = placement.server_of_each(cube, &pes, &[0, 1]);
    assert_eq!((server_of_each[1], server_of_each[2]), (None, None));
    assert_eq!(
        server_of_each
            .iter()
            .flatten()
            .filter(|&&node| node == 0)
            .count(),
        2
    );
}

/// Checks that the I/O node of a failed PE is also out of service.
#[test]
fn io_nodes_of_failed_pes_are_out_of_service() {
    let cube = Hypercube::new(4).unwrap();
    let placement = Placement::list(&cube, &[1, 4, 9, 14]).unwrap();
    let pes = CubeFaults::new(cube, &[9, 10], &[(0, 1)]).unwrap();
    assert_eq!(placement.io_nodes_down(&pes, &[3, 0, 3]), Ok(vec![0, 2, 3]));
    assert_eq!(
        placement.io_nodes_down(&CubeFaults::none(cube), &[]),
        Ok(vec![])
    );
    assert!(placement.io_nodes_down(&pes, &[4]).is_err());
}

/// Checks that failed I/O nodes that do not exist or have no reachable replacement are refused.
#[test]
fn impossible_requests_are_refused() {
    let cube = Hypercube::new(3).unwrap();
    let placement = Placement::hamming(cube).unwrap();
    let error = placement.forwarding(&cube, &[2], &[4; 2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed I/O node 2, but the I/O nodes are 0 to 1"
    );
    let error = placement.forwarding(&cube, &[0, 1], &[4; 2]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no working I/O node can be reached from failed I/O node 0"
    );
    let apart = Graph::from_edge_list("a b\nc d").unwrap();
    let placement = Placement::nearest(&apart, vec![0, 2]).unwrap();
    assert!(placement.forwarding(&apart, &[0], &[2; 2]).is_err());
}
