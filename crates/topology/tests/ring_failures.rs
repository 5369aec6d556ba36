//! Single failures of ring fabrics, and pairs of them.

use isthmus_topology::rings::{Cause, Fabric, Shape, pair, pair_count, sample_pairs};
use std::collections::BTreeSet;

/// Return a fabric of this shape without faults.
fn fabric(shape: Shape) -> Fabric {
    Fabric::new(&shape).unwrap()
}

/// Checks that the list of single failures has one failure for all links of a ring, and one for
/// each node.
#[test]
fn the_links_of_a_ring_are_one_event() {
    let torus = fabric(Shape::BidirectionalTorus { sizes: vec![4, 3] });
    let failures = torus.single_failures();
    // The torus has 2 * 3 rings along x, 2 * 4 rings along y, and 12 nodes.
    assert_eq!(failures.len(), 6 + 8 + 12);
    let components: u32 = failures.iter().map(|failure| failure.components).sum();
    assert_eq!(components, 4 * 12 + 12);
    for failure in &failures {
        let faulted = torus.with_faults(&failure.faults()).unwrap();
        let stopped: Vec<_> = faulted.rings_out_of_service().collect();
        assert_eq!(stopped, failure.rings, "{failure}");
    }
    assert_eq!(failures[0].to_string(), "link 0-1 (stops ring 0)");
    let last = &failures[25];
    assert_eq!(last.to_string(), "node 11 (stops rings 4, 5, 12, 13)");
}

/// Checks that two rings between the same two nodes are listed as one failure, since they have
/// the same links.
#[test]
fn rings_between_the_same_two_nodes_stop_together() {
    let rings = fabric(Shape::CounterRotating { nodes: 2 });
    let failures = rings.single_failures();
    assert_eq!(failures.len(), 1 + 2);
    assert_eq!(
        (&failures[0].rings[..], failures[0].components),
        (&[0, 1][..], 4)
    );
}

/// Checks that the failures of a fabric with faults leave out the parts that have already
/// failed.
#[test]
fn failed_parts_do_not_fail_again() {
    let torus = fabric(Shape::UniformRingTorus { sizes: [3, 3] });
    let first = &torus.single_failures()[9];
    assert_eq!((first.cause, first.rings.len()), (Cause::Node(0), 4));
    let faulted = torus.with_faults(&first.faults()).unwrap();
    let further = faulted.single_failures();
    assert_eq!(further.len(), 5 + 8);
    let twice = faulted.with_faults(&further[0].faults()).unwrap();
    let both = first.faults().union(&further[0].faults());
    assert_eq!(twice, torus.with_faults(&both).unwrap());
}

/// Checks that the numbering of unordered pairs covers all pairs without gaps.
#[test]
fn pairs_are_numbered_without_gaps() {
    let mut number = 0;
    for second in 1..200 {
        for first in 0..second {
            assert_eq!(pair(number), (first, second));
            number += 1;
        }
    }
    assert_eq!(pair_count(200), number);
    let last = pair_count(u32::MAX) - 1;
    assert_eq!(pair(last), (u32::MAX - 2, u32::MAX - 1));
    assert_eq!((pair_count(0), pair_count(1)), (0, 0));
}

/// Checks that a random sample contains different pairs, and all pairs if it is large enough.
#[test]
fn sampled_pairs_differ_and_may_be_all() {
    let mut state = 1u64;
    let mut below = |limit| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit
    };
    let sample = sample_pairs(30, 100, &mut below);
    assert_eq!(sample.len(), 100);
    let distinct: BTreeSet<_> = sample.iter().collect();
    assert_eq!(distinct.len(), 100);
    assert!(
        sample
            .iter()
            .all(|&(first, second)| first < second && second < 30)
    );
    assert_eq!(sample_pairs(5, 10, &mut below).len(), 10);
    assert_eq!(sample_pairs(5, 99, |_| unreachable!()).len(), 10);
    assert_eq!(sample_pairs(1, 1, |_| unreachable!()), []);
}
