//! Plans of arrays that no machine holds.

use isthmus_redistribute::{Dim, Grid, Layout, Plan};
use std::sync::Arc;

/// 10^12 elements on 10^4 ranks: what one rank sends comes to what it holds, and both sides tell the same.
#[test]
fn a_rank_among_many_knows_its_share() {
    let shape = [1_000_000, 1_000_000];
    let blocks = Grid::new(&[100, 100], &[Dim::cyclic(0, 2), Dim::cyclic(1, 2)]);
    let panels = Grid::new(&[10_000], &[Dim::WHOLE, Dim::block(0)]);
    let from = Arc::new(Layout::grid(&shape, blocks).unwrap());
    let to = Arc::new(Layout::grid(&shape, panels).unwrap());
    let plan = Plan::new(from.clone(), to.clone()).unwrap();
    for rank in [0, 4321, 9999] {
        let sends = plan.sends(rank);
        assert_eq!(
            sends.iter().map(|message| message.elements).sum::<u64>(),
            100_000_000
        );
        // A panel of 100 columns is half a turn of the grid's columns.
        assert_eq!(sends.len(), 5000);
        let receives = plan.receives(rank);
        assert_eq!(
            receives.iter().map(|message| message.elements).sum::<u64>(),
            100_000_000
        );
        let message = sends[17];
        let back = plan.receives(message.peer);
        let back = back.iter().find(|other| other.peer == rank).unwrap();
        assert_eq!(back.elements, message.elements);
        let sections = plan.sections(rank, message.peer);
        assert!(
            sections
                .iter()
                .all(|section| section.dims.iter().all(|families| families.len() <= 3))
        );
    }
}
