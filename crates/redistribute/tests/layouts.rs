//! Layouts that there are not.

use isthmus_redistribute::{Block, Dim, Grid, Layout, LayoutError, Plan, Spread};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::sync::Arc;

fn grid(shape: &[u64], extents: &[u32], dims: &[Dim]) -> String {
    Layout::grid(shape, Grid::new(extents, dims))
        .unwrap_err()
        .to_string()
}

#[test]
fn grids_that_make_no_sense() {
    let cyclic = Dim::cyclic;
    assert_eq!(
        grid(&[], &[1], &[]),
        "an array of 0 dimensions: it has 1 to 32"
    );
    for shape in [
        &[1 << 31, 1 << 31][..],
        &[1 << 31, 0, 1 << 31],
        &[0, u64::MAX],
    ] {
        assert_eq!(
            grid(shape, &[1], &[]),
            "an array has fewer than 2^62 elements"
        );
    }
    assert_eq!(
        grid(&[4, 4], &[2], &[cyclic(0, 1)]),
        "1 dimensions are distributed, but the array has 2: give one distribution for each"
    );
    assert_eq!(
        grid(&[4], &[2, 0], &[cyclic(0, 1)]),
        "a process grid of [2, 0]: each extent is at least 1, and all together make at most 16777216 ranks"
    );
    assert_eq!(
        grid(&[4], &[2], &[cyclic(1, 1)]),
        "dimension 0 goes over axis 1 of the process grid, which has 1: axes count from 0"
    );
    assert_eq!(
        grid(&[4, 4], &[2, 2], &[cyclic(0, 1), cyclic(0, 1)]),
        "dimensions 0 and 1 both go over axis 0 of the process grid: each needs one of its own"
    );
    assert_eq!(
        grid(&[4], &[2], &[cyclic(0, 1 << 62)]),
        "blocks of 4611686018427387904 indices of dimension 0 on 2 processes: a round over all has fewer than 2^63 \
         indices"
    );
    assert_eq!(
        grid(&[4], &[2], &[cyclic(0, 0)]),
        "blocks of dimension 0 have no indices: they have at least 1"
    );
    let late = Dim(Some((
        0,
        Spread::Cyclic {
            block: 1,
            source: 2,
        },
    )));
    assert_eq!(
        grid(&[4], &[2], &[late]),
        "the first block of dimension 0 is at coordinate 2, but the axis has 2: coordinates count from 0"
    );
    let cuts = |cuts: &[u64]| grid(&[4], &[2], &[Dim(Some((0, Spread::Cuts(Arc::from(cuts)))))]);
    assert_eq!(
        cuts(&[0, 4]),
        "cuts of dimension 0: there are 2, but 3 are needed for 2 coordinates"
    );
    assert_eq!(cuts(&[0, 5, 4]), "cuts of dimension 0: 4 comes after 5");
    assert_eq!(
        cuts(&[0, 2, 3]),
        "cuts of dimension 0: they go from 0 to 3, but the dimension from 0 to 4"
    );
}

fn block(from: &[u64], to: &[u64]) -> Block {
    Block {
        from: from.to_vec(),
        to: to.to_vec(),
    }
}

#[test]
fn boxes_that_overlap_or_leave_gaps_name_the_element() {
    let boxes = |blocks: Vec<Vec<Block>>| Layout::boxes(&[4, 4], blocks).unwrap_err();
    let left = block(&[0, 0], &[4, 2]);
    assert_eq!(
        boxes(vec![vec![left.clone()], vec![block(&[0, 2], &[3, 4])]]),
        LayoutError::Missing { index: vec![3, 2] }
    );
    assert_eq!(
        boxes(vec![
            vec![left.clone()],
            vec![],
            vec![block(&[0, 2], &[2, 4]), block(&[2, 1], &[4, 4])]
        ]),
        LayoutError::Overlap {
            index: vec![2, 1],
            of: [(0, 0), (2, 1)]
        }
    );
    // As many elements as there should be, but one twice and one not at all.
    let error = boxes(vec![
        vec![left.clone(), block(&[0, 1], &[1, 2])],
        vec![block(&[0, 2], &[4, 4])],
    ]);
    assert_eq!(
        error.to_string(),
        "element [0, 1] is held twice: by box 0 of rank 0 and by box 1 of rank 0"
    );
    assert_eq!(
        boxes(vec![vec![block(&[0, 0], &[4, 5])]]).to_string(),
        "box 0 of rank 0: it goes from 0 to 5 in dimension 1, which has the indices 0 to before 4"
    );
    assert_eq!(
        boxes(vec![vec![], vec![block(&[0], &[4])]]).to_string(),
        "box 0 of rank 1: it begins in 1 and ends in 1 dimensions, but the array has 2"
    );
    assert_eq!(
        boxes(vec![vec![left]]).to_string(),
        "no rank holds element [0, 2]"
    );
}

#[test]
fn boxes_are_of_a_rank_at_least() {
    for error in [
        Layout::boxes(&[4], vec![]),
        Layout::some_boxes(&[4], vec![]),
    ] {
        assert_eq!(error, Err(LayoutError::BoxRanks { given: 0 }));
    }
    let error = Layout::boxes(&[4], vec![]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "boxes of 0 ranks: there are 1 to 16777216"
    );
}

#[test]
fn ranks_have_numbers_of_their_own() {
    let layout = || Layout::grid(&[4], Grid::new(&[2], &[Dim::block(0)])).unwrap();
    let moved = layout().on_ranks(&[7, 3]).unwrap();
    assert_eq!((moved.rank(0), moved.rank(1)), (7, 3));
    assert_eq!((moved.index_of(3), moved.index_of(0)), (Some(1), None));
    assert_eq!(
        layout().on_ranks(&[7]).unwrap_err().to_string(),
        "1 ranks are given, but the layout has 2"
    );
    assert_eq!(
        layout().on_ranks(&[7, 7]).unwrap_err().to_string(),
        "rank 7 is given twice"
    );
}

#[test]
fn arrays_of_one_shape_only() {
    let layout = |extent| Arc::new(Layout::whole(&[extent]).unwrap());
    assert_eq!(
        Plan::new(layout(4), layout(5)).unwrap_err().to_string(),
        "data come from an array of shape [4] and go to one of shape [5]: both must be the same"
    );
}

/// What is of an array for now: elements may be in no box, but in none twice.
#[test]
fn some_of_an_array() {
    let block = |from: u64, to: u64| Block {
        from: vec![from],
        to: vec![to],
    };
    let some = Layout::some_boxes(&[10], vec![vec![block(2, 4)], vec![block(7, 9)]]).unwrap();
    let plan = Plan::new(Arc::new(Layout::whole(&[10]).unwrap()), Arc::new(some)).unwrap();
    let sent: Vec<u64> = plan
        .sends(0)
        .iter()
        .map(|message| message.elements)
        .collect();
    assert_eq!(sent, [2, 2]);
    let twice = Layout::some_boxes(&[10], vec![vec![block(2, 4)], vec![block(3, 9)]]);
    assert!(matches!(twice, Err(LayoutError::Overlap { index, .. }) if index == [3]));
}

#[test]
fn the_first_element_that_no_rank_holds() {
    let missing =
        |shape: &[u64], blocks| Layout::some_boxes(shape, blocks).unwrap().first_missing();
    let (left, right) = (block(&[0, 0], &[4, 2]), block(&[0, 2], &[4, 4]));
    assert_eq!(
        missing(&[4, 4], vec![vec![left.clone()], vec![right]]),
        None
    );
    let gap = vec![
        vec![left.clone()],
        vec![],
        vec![block(&[0, 2], &[2, 3]), block(&[1, 3], &[4, 4])],
    ];
    assert_eq!(missing(&[4, 4], gap), Some(vec![0, 3]));
    let late = vec![vec![left, block(&[0, 2], &[3, 4]), block(&[3, 3], &[4, 4])]];
    assert_eq!(missing(&[4, 4], late), Some(vec![3, 2]));
    // None hold anything; a box of no indices is as none.
    assert_eq!(missing(&[4, 4], vec![vec![]]), Some(vec![0, 0]));
    assert_eq!(missing(&[4], vec![vec![block(&[2], &[2])]]), Some(vec![0]));
    // Other numbers of the ranks hide nothing.
    let moved = Layout::some_boxes(&[4], vec![vec![block(&[0], &[3])]]).unwrap();
    assert_eq!(moved.on_ranks(&[7]).unwrap().first_missing(), Some(vec![3]));
    let grid = Layout::grid(&[5, 3], Grid::new(&[4], &[Dim::cyclic(0, 2), Dim::WHOLE])).unwrap();
    assert_eq!(grid.first_missing(), None);
}

/// Against going through all elements.
#[test]
fn the_first_element_that_no_rank_holds_in_random_boxes() {
    let cut = |extent: u64| (0..=extent, 0..=extent).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let boxes = |shape: &[u64]| {
        let dims: Vec<_> = shape.iter().map(|&extent| cut(extent)).collect();
        let one = dims.prop_map(|dims| {
            let (from, to) = dims.into_iter().unzip();
            Block { from, to }
        });
        prop::collection::vec(one, 0..9)
    };
    let cases = prop::collection::vec(prop_oneof![9 => 1..5_u64, 1 => Just(0)], 1..4)
        .prop_flat_map(move |shape| (boxes(&shape), Just(shape)));
    let (whole, gaps) = (Cell::new(0), Cell::new(0));
    let config = Config {
        cases: 2000,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&cases, |(given, shape)| {
        let within = |block: &Block, index: &[u64]| {
            let mut dims = 0..shape.len();
            dims.all(|dim| (block.from[dim]..block.to[dim]).contains(&index[dim]))
        };
        let elements = elements(&shape);
        // Boxes that overlap those before are left out.
        let mut kept: Vec<Block> = Vec::new();
        for block in given {
            let is_new = |index: &Vec<u64>| {
                !within(&block, index) || !kept.iter().any(|other| within(other, index))
            };
            if elements.iter().all(is_new) {
                kept.push(block);
            }
        }
        let mut in_order = elements.iter();
        let first = in_order.find(|index| !kept.iter().any(|block| within(block, index)));
        let layout =
            Layout::some_boxes(&shape, kept.into_iter().map(|block| vec![block]).collect());
        let Ok(layout) = layout else {
            return Ok(()); // no ranks at all
        };
        prop_assert_eq!(layout.first_missing(), first.cloned());
        let seen = if first.is_some() { &gaps } else { &whole };
        seen.set(seen.get() + 1);
        Ok(())
    });
    run.unwrap();
    println!("{} whole, {} with gaps", whole.get(), gaps.get());
    assert!(whole.get() > 100 && gaps.get() > 500, "{whole:?} {gaps:?}");
}

/// All of them, in order of rows.
fn elements(shape: &[u64]) -> Vec<Vec<u64>> {
    let none = vec![Vec::new()];
    shape.iter().fold(none, |before, &extent| {
        let longer = |index: &Vec<u64>| {
            let index = index.clone();
            (0..extent).map(move |next| [&index[..], &[next]].concat())
        };
        before.iter().flat_map(longer).collect()
    })
}
