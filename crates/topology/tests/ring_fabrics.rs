//! Fabrics: their rings, their names, what is refused, what faults leave of them.

use isthmus_topology::rings::{Fabric, Faults, MAX_NODES, RingsError, Routes, Routing, Shape};

fn fabric(shape: Shape) -> Fabric {
    Fabric::new(&shape).unwrap()
}

fn refused(shape: Shape) -> String {
    Fabric::new(&shape).unwrap_err().to_string()
}

#[test]
fn the_paper_counts_the_rings_of_tori() {
    // Table 7: number of rings, nodes on each.
    for k in 3..=6 {
        let sizes = vec![k, k];
        let (one_way, both_ways) = (
            fabric(Shape::Torus {
                sizes: sizes.clone(),
            }),
            fabric(Shape::BidirectionalTorus { sizes }),
        );
        let uniform = fabric(Shape::UniformRingTorus { sizes: [k, k] });
        for (torus, rings, nodes) in [
            (&one_way, 2 * k, k),
            (&both_ways, 4 * k, k),
            (&uniform, k * k, 4),
        ] {
            assert_eq!((torus.node_count(), torus.ring_count()), (k * k, rings));
            assert!(
                torus
                    .rings()
                    .iter()
                    .all(|ring| ring.len() == nodes as usize)
            );
        }
        // The uniform rings have the links of the bidirectional torus, each once.
        let links = |torus: &Fabric| {
            let ends = torus.links().iter().map(|link| (link.from, link.to));
            let mut links: Vec<_> = ends.collect();
            links.sort_unstable();
            links
        };
        assert_eq!(links(&uniform), links(&both_ways));
        assert!((0..k * k).all(|node| uniform.links_from(node).len() == 4));
    }
}

#[test]
fn links_are_numbered_along_the_rings() {
    let shapes = [
        Shape::BidirectionalTorus {
            sizes: vec![3, 2, 4],
        },
        Shape::Manhattan { sizes: [4, 6] },
        Shape::Rings(vec![vec![2, 0, 1], vec![3, 1], vec![1, 0, 3, 4]]),
    ];
    for shape in shapes {
        let fabric = fabric(shape);
        let mut number = 0;
        for (ring, nodes) in (0..).zip(fabric.rings()) {
            for position in 0..nodes.len() {
                let link = fabric.links()[number as usize];
                let after = (position + 1) % nodes.len();
                assert_eq!(fabric.link(ring, position as u32), number);
                assert_eq!(
                    (link.ring, link.from, link.to),
                    (ring, nodes[position], nodes[after])
                );
                assert_eq!(link.next, fabric.link(ring, after as u32));
                assert_eq!(fabric.link_on(link.from, ring), Some(number));
                number += 1;
            }
        }
        assert_eq!(number as usize, fabric.links().len());
        for node in 0..fabric.node_count() {
            let rings: Vec<_> = fabric
                .links_from(node)
                .map(|link| fabric.links()[link as usize].ring)
                .collect();
            assert!(rings.is_sorted() && !rings.is_empty());
        }
    }
}

#[test]
fn streets_alternate() {
    let streets = fabric(Shape::Manhattan { sizes: [4, 2] });
    assert_eq!(
        streets.rings(),
        [
            vec![0, 1, 2, 3],
            vec![4, 7, 6, 5],
            vec![0, 4],
            vec![1, 5],
            vec![2, 6],
            vec![3, 7],
        ]
    );
    assert_eq!(streets.sizes(), Some(&[4, 2][..]));
    let larger = fabric(Shape::Manhattan { sizes: [4, 4] });
    assert_eq!(larger.rings()[4], [0, 4, 8, 12]);
    assert_eq!(larger.rings()[5], [1, 13, 9, 5]);
}

#[test]
fn fabrics_have_names_and_coordinates() {
    let named = [
        (Shape::Ring { nodes: 8 }, "8-node ring"),
        (
            Shape::CounterRotating { nodes: 10 },
            "10-node counter-rotating rings",
        ),
        (
            Shape::Torus { sizes: vec![6, 6] },
            "6 x 6 unidirectional torus",
        ),
        (
            Shape::BidirectionalTorus {
                sizes: vec![4, 4, 2],
            },
            "4 x 4 x 2 bidirectional torus",
        ),
        (
            Shape::UniformRingTorus { sizes: [5, 3] },
            "5 x 3 uniform-ring torus",
        ),
        (
            Shape::Manhattan { sizes: [4, 2] },
            "4 x 2 Manhattan street network",
        ),
        (
            Shape::Rings(vec![vec![0, 1, 2], vec![2, 3]]),
            "2 rings over 4 nodes",
        ),
    ];
    for (shape, name) in named {
        assert_eq!(fabric(shape).name(), name);
    }
    let torus = fabric(Shape::Torus {
        sizes: vec![3, 4, 5],
    });
    assert_eq!(torus.coordinates(1 + 3 * (2 + 4 * 3)), Some(vec![1, 2, 3]));
    let rings = fabric(Shape::Rings(vec![vec![1, 0]]));
    assert_eq!((rings.sizes(), rings.coordinates(1)), (None, None));
}

#[test]
fn what_is_no_fabric_is_refused_with_the_place() {
    let given = |rings: &[&[u32]]| Shape::Rings(rings.iter().map(|ring| ring.to_vec()).collect());
    let torus = |sizes: &[u32]| Shape::Torus {
        sizes: sizes.to_vec(),
    };
    let cases = [
        (
            Shape::Ring { nodes: 1 },
            "ring 0 has one node; a ring joins at least 2",
        ),
        (
            Shape::CounterRotating { nodes: 0 },
            "ring 0 has no node; a ring joins at least 2",
        ),
        (
            torus(&[]),
            "no size; a torus needs the number of nodes in each dimension",
        ),
        (
            torus(&[4, 1]),
            "1 nodes in dimension 1; a torus needs at least 2 in each",
        ),
        (
            Shape::UniformRingTorus { sizes: [2, 5] },
            "2 nodes in dimension 0; a uniform-ring torus needs at least 3 in each",
        ),
        (
            Shape::Manhattan { sizes: [4, 3] },
            "3 nodes in dimension 1; the streets of a Manhattan street network alternate in \
             direction all the way round, which takes an even number",
        ),
        (
            torus(&[300, 300]),
            "90000 nodes; SCI addresses 65536 at most",
        ),
        (
            torus(&[u32::MAX, u32::MAX, u32::MAX]),
            "18446744073709551615 nodes; SCI addresses 65536 at most",
        ),
        (given(&[]), "no ring; a fabric has at least one"),
        (
            given(&[&[0, 1], &[1]]),
            "ring 1 has one node; a ring joins at least 2",
        ),
        (
            given(&[&[0, 1, 2, 1]]),
            "ring 0 passes node 1 twice; a node has one interface on a ring",
        ),
        (
            given(&[&[0, 1, 4], &[4, 3]]),
            "node 2 is on no ring; the rings name nodes up to 4, so there must be all of 0 to 4",
        ),
        (
            given(&[&[0, 4_000_000_000]]),
            "4000000001 nodes; SCI addresses 65536 at most",
        ),
        (
            given(&[&[0, 1, 2], &[3, 4], &[5, 3]]),
            "no path from node 0 to node 3: no chain of rings with common nodes joins them",
        ),
        (
            given(&[&[0, 4], &[1, 2, 3]]),
            "no path from node 0 to node 1: no chain of rings with common nodes joins them",
        ),
    ];
    for (shape, expected) in cases {
        assert_eq!(refused(shape), expected);
    }
    assert!(Fabric::new(&Shape::Ring { nodes: MAX_NODES }).is_ok());
}

#[test]
fn faults_stop_whole_rings() {
    let torus = fabric(Shape::Torus { sizes: vec![3, 3] });
    let with = |nodes: &[u32], links: &[(u32, u32)]| {
        torus.with_faults(&Faults {
            nodes: nodes.to_vec(),
            links: links.to_vec(),
        })
    };
    // Row 1 and column 0 go with node 3, but all its neighbours have another ring.
    let faulted = with(&[3], &[]).unwrap();
    assert_eq!(faulted.rings_out_of_service().collect::<Vec<_>>(), [1, 3]);
    assert_eq!(faulted.live_nodes(), [0, 1, 2, 4, 5, 6, 7, 8]);
    assert!(faulted.cut_off().is_empty() && !faulted.is_whole());
    // Link 3-4 is on row 1 already, link 0-3 stops column 0; nodes 3 is alone then.
    let faulted = with(&[], &[(3, 4), (0, 3)]).unwrap();
    assert_eq!(faulted.cut_off(), [3]);
    assert_eq!(faulted.faults().links, [(0, 3), (3, 4)]);
    // No ring is left with all rows and columns stopped.
    let faulted = with(&[0, 4, 8], &[]).unwrap();
    assert!(faulted.live_nodes().is_empty());
    assert_eq!(faulted.cut_off(), [1, 2, 3, 5, 6, 7]);

    let missing = with(&[9], &[]).unwrap_err();
    assert_eq!(
        missing,
        RingsError::MissingNode {
            node: 9,
            highest: 8
        }
    );
    // The ring leads from 0 to 1, not back.
    let missing = with(&[], &[(1, 0)]).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "failed link 1-0, but no ring leads from node 1 to node 0 next"
    );
    assert!(with(&[], &[(77, 0)]).is_err());
}

#[test]
fn of_equal_parts_the_one_with_the_lowest_node_lives_on() {
    let rings = fabric(Shape::Rings(vec![
        vec![5, 4],
        vec![4, 0],
        vec![0, 1],
        vec![3, 2],
        vec![2, 0],
    ]));
    let faults = Faults {
        nodes: vec![0],
        links: vec![],
    };
    let faulted = rings.with_faults(&faults).unwrap();
    assert_eq!(
        (faulted.live_nodes(), faulted.cut_off()),
        (&[2, 3][..], &[1, 4, 5][..])
    );
}

#[test]
fn dimension_order_cannot_close_a_circle_of_queues_but_in_uniform_rings() {
    let check = |shape, routing| {
        let routes = Routes::new(&fabric(shape), routing).unwrap();
        routes.check_waiting()
    };
    for routing in [Routing::DimensionOrder, Routing::Fixed] {
        for sizes in [vec![6, 6], vec![4, 3, 4]] {
            let one_way = Shape::Torus {
                sizes: sizes.clone(),
            };
            assert_eq!(check(one_way, routing), Ok(()));
            assert_eq!(check(Shape::BidirectionalTorus { sizes }, routing), Ok(()));
        }
    }
    for nodes in [2, 9] {
        assert_eq!(
            check(Shape::CounterRotating { nodes }, Routing::Random),
            Ok(())
        );
    }
    let cycle = check(
        Shape::BidirectionalTorus { sizes: vec![4, 4] },
        Routing::FewestChanges,
    )
    .unwrap_err();
    assert!(
        cycle
            .to_string()
            .starts_with("input queues can wait for one another in a circle: node ")
    );
    assert_eq!(cycle.places.len(), cycle.interfaces.len());
    for routing in [
        Routing::DimensionOrder,
        Routing::Fixed,
        Routing::Random,
        Routing::FewestChanges,
    ] {
        let cycle = check(Shape::UniformRingTorus { sizes: [6, 6] }, routing);
        assert!(cycle.is_err(), "{routing:?}");
    }
}
