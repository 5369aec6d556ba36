//! Cables and links.

use isthmus_topology::Wiring;
use proptest::prelude::*;

proptest! {
    /// Checks that each cable has one link in each direction, and parallel links of a vertex
    /// are adjacent.
    #[test]
    fn links_are_the_cables_in_both_directions(
        ends in prop::collection::vec((0u32..9, 1u32..9), 0..40),
        nodes in 0u32..9,
    ) {
        let cables: Vec<(u32, u32)> = ends.iter().map(|&(a, step)| (a, (a + step) % 9)).collect();
        let wiring = Wiring::new(nodes, 9 - nodes, &cables);
        prop_assert_eq!(wiring.link_count() as usize, 2 * cables.len());
        let mut seen = vec![false; 2 * cables.len()];
        for (cable, &(a, b)) in cables.iter().enumerate() {
            let forward = wiring.forward(cable);
            let back = wiring.reverse(forward);
            prop_assert!(wiring.out_of(a).contains(&forward) && wiring.out_of(b).contains(&back));
            prop_assert_eq!((wiring.target(forward), wiring.target(back)), (b, a));
            prop_assert_eq!(wiring.reverse(back), forward);
            for link in [forward, back] {
                prop_assert!(!std::mem::replace(&mut seen[link as usize], true));
            }
        }
        for vertex in 0..9 {
            // Check that parallel links are adjacent in the list: removing adjacent repetitions must leave
            // each neighbour once.
            let mut targets: Vec<u32> = wiring.out_of(vertex).map(|l| wiring.target(l)).collect();
            targets.dedup();
            let count = targets.len();
            targets.sort_unstable();
            targets.dedup();
            prop_assert_eq!(targets.len(), count);
        }
    }
}
