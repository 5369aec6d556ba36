//! Averages over the traffic of ring fabrics.

use isthmus_topology::rings::{Fabric, LinkUse, Routes, Routing, Shape};

/// Return whether two numbers are equal up to rounding errors.
fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-12 * one.abs().max(1e-12)
}

/// Return all five loads of a link.
fn amounts(link: &LinkUse) -> [f64; 5] {
    [
        link.sends,
        link.echoes,
        link.starts,
        link.entries,
        link.ends,
    ]
}

/// Checks that the averages from the traffic to one node equal those over all pairs, on all tori and rules for
/// which this fast computation exists. Under dimension order and fixed routes all loads are sums of powers of 1/2,
/// so they must be equal to the bit.
#[test]
fn the_traffic_to_one_node_determines_all() {
    let shapes = [
        Shape::Ring { nodes: 7 },
        Shape::CounterRotating { nodes: 6 },
        Shape::Torus { sizes: vec![3, 5] },
        Shape::Torus {
            sizes: vec![2, 3, 4],
        },
        Shape::BidirectionalTorus { sizes: vec![4, 6] },
        Shape::BidirectionalTorus { sizes: vec![2, 5] },
        Shape::BidirectionalTorus {
            sizes: vec![3, 4, 2],
        },
        Shape::UniformRingTorus { sizes: [4, 4] },
        Shape::UniformRingTorus { sizes: [3, 5] },
    ];
    let rules = [
        Routing::DimensionOrder,
        Routing::Fixed,
        Routing::Random,
        Routing::FewestChanges,
    ];
    let mut compared = 0;
    for shape in &shapes {
        for routing in rules {
            let fabric = Fabric::new(shape).unwrap();
            let routes = Routes::new(&fabric, routing).unwrap();
            if !routes.all_nodes_are_alike() {
                continue;
            }
            let (short, long) = (routes.uniform_averages(), routes.averages(|_, _| 1.0));
            if [Routing::DimensionOrder, Routing::Fixed].contains(&routing) {
                assert_eq!(short, long, "{shape:?} {routing:?}");
            }
            assert_eq!(short.distances, long.distances);
            for (one, other) in short.links.iter().zip(&long.links) {
                let mut pairs = amounts(one).into_iter().zip(amounts(other));
                assert!(
                    pairs.all(|(one, other)| close(one, other)),
                    "{shape:?} {routing:?}"
                );
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 7 * 4 + 2);
}

/// Checks that averages over uniform traffic on large tori take a short time. Uses 16,384 nodes, for which a
/// computation over all pairs would take minutes.
#[test]
fn the_largest_tori_are_fast() {
    for shape in [
        Shape::BidirectionalTorus {
            sizes: vec![128, 128],
        },
        Shape::UniformRingTorus { sizes: [128, 128] },
    ] {
        let fabric = Fabric::new(&shape).unwrap();
        let routes = Routes::new(&fabric, Routing::DimensionOrder).unwrap();
        // The mean distance is 32 + 32 links if a node may send to itself. Uniform traffic excludes this, so the
        // sum over 16,384 destinations is divided by 16,383.
        let mean = 64.0 * 16_384.0 / 16_383.0;
        assert!(close(routes.uniform_averages().mean_links, mean));
        let waiting = routes.check_waiting();
        assert_eq!(
            waiting.is_ok(),
            matches!(shape, Shape::BidirectionalTorus { .. })
        );
    }
}
