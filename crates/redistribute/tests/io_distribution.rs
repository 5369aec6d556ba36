//! The I/O distribution: the paper's figures, and random ones against going through all elements of the array in the
//! order in which it is sent.

use crate::families::place;
use isthmus_redistribute::transfer::{Order, Side, runs};
use isthmus_redistribute::{
    Comb, Dim, Grid, IoDistribution, IoDistributionError, IoGrid, Layout, Plan, TransferUnit,
    UnitBlock,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

const KB: u64 = 1 << 10;

fn spread(shape: &[u64], grid: (u32, u32), links: u32, tu: u64, element: u64) -> IoDistribution {
    let (rows, columns) = grid;
    let grid = IoGrid {
        rows,
        columns,
        links,
        tu,
        element,
    };
    IoDistribution::new(shape, grid).unwrap()
}

/// All transfer units in the order of the array.
fn units(of: &IoDistribution) -> impl Iterator<Item = TransferUnit> {
    (0..of.unit_count()).map(|number| of.unit(number).unwrap())
}

/// The striping units of a transfer unit, in order: the link and the blocks that cross it.
fn striping_units(of: &IoDistribution, unit: &TransferUnit) -> Vec<(u32, Vec<UnitBlock>)> {
    let link = |block: &UnitBlock| of.link(block.rank_index);
    let chunks = unit.blocks.chunk_by(|one, next| link(one) == link(next));
    chunks
        .map(|blocks| (link(&blocks[0]), blocks.to_vec()))
        .collect()
}

/// Section 6.2.2 and Figure 13: the 0.5 MB of section 6.3 on 8 x 8 processors.
#[test]
fn figure_13_of_the_paper() {
    let found = spread(&[8, 64 * KB], (8, 8), 4, 64 * KB, 1);
    assert_eq!(
        (found.unit_count(), found.dim(), found.block()),
        (8, 1, 8 * KB)
    );
    for (row, unit) in (0..).zip(units(&found)) {
        let blocks = (0..8).map(|column| UnitBlock {
            rank_index: 8 * row + column,
            elements: 8 * KB,
        });
        let wanted = TransferUnit {
            number: row.into(),
            start: u64::from(row) * 64 * KB,
            blocks: blocks.collect(),
        };
        assert_eq!(unit, wanted);
        // Four pairs of processors, each over a link of its own.
        let units = striping_units(&found, &unit);
        let units: Vec<(u32, u64)> = units
            .iter()
            .map(|(link, blocks)| (*link, elements(blocks)))
            .collect();
        assert_eq!(units, [0, 1, 2, 3].map(|link| (link, 16 * KB)));
    }
    assert_eq!(found.unit(8), None);
}

/// 128 KB on 4 x 4 processors, a link for each column: four packets of four SUs of 8 KB. (With the TU of 64 KB that the
/// text names there would be two packets of SUs of 16 KB.)
#[test]
fn figure_8_of_the_paper() {
    let found = spread(&[128 * KB], (4, 4), 4, 32 * KB, 1);
    let units: Vec<Vec<(u32, u32, u64)>> = units(&found)
        .map(|unit| {
            let units = striping_units(&found, &unit).into_iter();
            let each = units.map(|(link, unit)| {
                assert_eq!(unit.len(), 1);
                (unit[0].rank_index, link, unit[0].elements)
            });
            each.collect()
        })
        .collect();
    let wanted = (0..4).map(|row| {
        (0..4)
            .map(|at| (4 * row + at, at, 8 * KB))
            .collect::<Vec<_>>()
    });
    assert_eq!(units, wanted.collect::<Vec<_>>());
    assert_eq!(spread(&[128 * KB], (4, 4), 4, 64 * KB, 1).unit_count(), 2);
}

/// How many blocks of so many elements lie in one piece in the system and on the network, where the array is sent row by
/// row.
fn blocks(layout: &Arc<Layout>) -> BTreeMap<u64, u64> {
    let shape = layout.shape().to_vec();
    let plan = Plan::new(layout.clone(), Arc::new(Layout::whole(&shape).unwrap())).unwrap();
    let mut found = BTreeMap::new();
    for place in 0..layout.rank_count() as u32 {
        let extents: Vec<u64> = layout.parts(place)[0].iter().map(Comb::size).collect();
        let from = Side::Array(&extents, Order::C);
        for section in plan.sections(place, 0) {
            for (len, count) in runs(&section, 1, from, Side::Array(&shape, Order::C)) {
                *found.entry(len).or_default() += count;
            }
        }
    }
    found
}

/// N x N elements on p x p processors, blocking factor b; and in the last line, which Table 1 has not, from where the
/// interface takes them: TUs of N elements, N / p from each processor of a row.
#[test]
fn table_1_of_the_paper() {
    let (n, p, b) = (1024, 8_u32, 2);
    let side = u64::from(p);
    let layout = |grid| Arc::new(Layout::grid(&[n, n], grid).unwrap());
    let swath = Grid::new(&[p * p], &[Dim::block(0), Dim::WHOLE]);
    let coarse = Grid::new(&[p, p], &[Dim::block(0), Dim::block(1)]);
    let size = n / (side * b);
    let fine = Grid::new(&[p, p], &[Dim::cyclic(0, size), Dim::cyclic(1, size)]);
    for (grid, len, count) in [
        (swath, n * n / (side * side), side * side),
        (coarse, n / side, n * side),
        (fine, n / (side * b), n * side * b),
    ] {
        assert_eq!(blocks(&layout(grid)), BTreeMap::from([(len, count)]));
    }
    let found = spread(&[n, n], (p, p), 4, n, 1);
    assert_eq!(
        blocks(found.layout()),
        BTreeMap::from([(n / side, n * side)])
    );
    // As large as the memory of the interface lets them be: of 64 rows, 8 for each processor.
    let found = spread(&[n, n], (p, p), 4, 64 * n, 1);
    assert_eq!(blocks(found.layout()), BTreeMap::from([(8 * n, n / 8)]));
}

#[derive(Clone, Debug)]
struct Case {
    shape: Vec<u64>,
    rows: u32,
    columns: u32,
    links: u32,
    tu: u64,
    element: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let columns = (1..4_u32, 1..4_u32).prop_map(|(links, each)| (links, links * each));
    let shape = prop::collection::vec(1..14_u64, 1..4);
    (shape, 1..5_u32, columns, 1..20_u64, 1..200_u64).prop_map(
        |(shape, rows, (links, columns), element, room)| Case {
            shape,
            rows,
            columns,
            links,
            tu: (element + room) * u64::from(columns),
            element,
        },
    )
}

fn elements(blocks: &[UnitBlock]) -> u64 {
    blocks.iter().map(|block| block.elements).sum()
}

/// The index of an element by its place row by row.
fn index(shape: &[u64], mut place: u64) -> Vec<u64> {
    let mut index = vec![0; shape.len()];
    for (dim, extent) in shape.iter().enumerate().rev() {
        index[dim] = place % extent;
        place /= extent;
    }
    index
}

/// Where an element lies in the memory of a rank, row by row, if that one has it.
fn lies(part: &[Comb], index: &[u64]) -> Option<u64> {
    let mut at = 0;
    for (comb, &index) in part.iter().zip(index) {
        at = at * comb.size() + place(comb, index)?;
    }
    Some(at)
}

#[derive(Default, Debug)]
struct Count {
    units: Cell<u64>,
    /// Blocks are whole rows, or of rows.
    rows: Cell<u64>,
    within: Cell<u64>,
    /// Units that are shorter than others.
    short: Cell<u64>,
    /// Several blocks cross one link.
    shared: Cell<u64>,
    /// Ranks that send more than once.
    again: Cell<u64>,
}

fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

fn compare(case: &Case, count: &Count) -> Result<(), TestCaseError> {
    let (rows, columns) = (case.rows, case.columns);
    let found = spread(
        &case.shape,
        (rows, columns),
        case.links,
        case.tu,
        case.element,
    );
    let layout = found.layout();
    prop_assert_eq!(layout.rank_count(), u64::from(rows * columns));
    let parts: Vec<Vec<Comb>> = (0..rows * columns)
        .map(|place| layout.parts(place).remove(0))
        .collect();
    let (mut sent, mut number) = (0, 0);
    let mut of_rank = vec![0; parts.len()];
    for unit in units(&found) {
        prop_assert_eq!((unit.number, unit.start), (number, sent));
        let size = elements(&unit.blocks);
        prop_assert!(size > 0 && size * case.element <= case.tu);
        let first = elements(&found.unit(0).unwrap().blocks);
        add(&count.short, (size < first).into());
        for (column, block) in (0..).zip(&unit.blocks) {
            // From the columns in order, all of one row.
            prop_assert_eq!(block.rank_index % columns, column);
            prop_assert_eq!(
                block.rank_index / columns,
                unit.blocks[0].rank_index / columns
            );
            // What a rank holds goes out in the order in which it lies in its memory, in one piece.
            let gone = &mut of_rank[block.rank_index as usize];
            add(&count.again, (*gone > 0).into());
            for _ in 0..block.elements {
                let at = lies(&parts[block.rank_index as usize], &index(&case.shape, sent));
                prop_assert_eq!(at, Some(*gone));
                (sent, *gone) = (sent + 1, *gone + 1);
            }
        }
        // By link one striping unit at most, the links in order, of the columns that are the link's.
        let each = columns / case.links;
        let striping = striping_units(&found, &unit);
        let links: Vec<u32> = striping.iter().map(|(link, _)| *link).collect();
        prop_assert!(
            links.iter().copied().eq(0..links.len() as u32) && links.len() as u32 <= case.links
        );
        for (link, blocks) in striping {
            for block in &blocks {
                prop_assert_eq!(link, block.rank_index % columns / each);
            }
            add(&count.shared, (blocks.len() > 1).into());
        }
        number += 1;
    }
    prop_assert_eq!(found.unit(number), None);
    // Every element once: so many in order, and all that each rank holds.
    prop_assert_eq!(sent, case.shape.iter().product::<u64>());
    for (place, gone) in (0..).zip(of_rank) {
        prop_assert_eq!(gone, layout.element_count(place));
    }
    add(&count.units, number);
    add(
        if found.dim() == 0 {
            &count.rows
        } else {
            &count.within
        },
        1,
    );
    Ok(())
}

#[test]
fn every_element_is_sent_once_in_its_order() {
    let count = Count::default();
    let config = Config {
        cases: 1500,
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    runner.run(&cases(), |case| compare(&case, &count)).unwrap();
    println!("{count:?}");
    for (what, seen, least) in [
        ("units", &count.units, 5000),
        ("blocks of whole rows", &count.rows, 300),
        ("blocks within rows", &count.within, 300),
        ("short units", &count.short, 500),
        ("links with several blocks", &count.shared, 2000),
        ("ranks that send again", &count.again, 5000),
    ] {
        assert!(seen.get() > least, "{what}: {}", seen.get());
    }
}

/// A unit is found by itself, however many there are.
#[test]
fn units_of_a_huge_array() {
    let n = 1_000_000;
    let found = spread(&[n, n, n], (100, 100), 50, 64 * KB, 1);
    // 655 bytes for each column, 65,500 for all: 15 times in a row of 10^6, and a rest of 17,500.
    assert_eq!(
        (found.dim(), found.block(), found.unit_count()),
        (2, 655, n * n * 16)
    );
    let number = n * n * 16 - 1;
    let last = found.unit(number).unwrap();
    assert_eq!(
        (last.start, elements(&last.blocks)),
        (n * n * n - 17_500, 17_500)
    );
    assert_eq!(last.blocks.len(), 27);
    // 26 blocks of 655 and one of 470, on the last row of processors.
    for (column, block) in (0..).zip(&last.blocks) {
        let elements = if column < 26 { 655 } else { 470 };
        let place = 9_900 + column;
        assert_eq!(
            *block,
            UnitBlock {
                rank_index: place,
                elements
            }
        );
        assert_eq!(found.link(place), column / 2);
    }
    assert_eq!(found.unit(number + 1), None);
}

#[test]
fn distributions_that_there_are_not() {
    let good = IoGrid {
        rows: 8,
        columns: 8,
        links: 4,
        tu: 64,
        element: 1,
    };
    let wrong = |shape: &[u64], grid| IoDistribution::new(shape, grid).unwrap_err().to_string();
    for links in [0, 3, 9] {
        assert_eq!(
            wrong(&[8, 8], IoGrid { links, ..good }),
            format!("links: {links}; each has as many of the 8 columns as the others")
        );
    }
    assert_eq!(
        wrong(&[8, 0], good),
        "dimension 1 has no indices: it has at least 1"
    );
    assert_eq!(
        wrong(&[8, 8], IoGrid { columns: 0, ..good }),
        "links: 4; each has as many of the 0 columns as the others"
    );
    assert_eq!(
        wrong(&[8, 8], IoGrid { tu: 7, ..good }),
        "tu: 7 bytes have 0 for each of 8 columns; an element has 1"
    );
    assert_eq!(
        wrong(&[8, 8], IoGrid { tu: 0, ..good }),
        "tu: 0; it is a number of bytes, at least 1"
    );
    assert_eq!(
        wrong(&[8, 8], IoGrid { element: 0, ..good }),
        "element: 0; it is a number of bytes, at least 1"
    );
    assert_eq!(wrong(&[], good), "an array of 0 dimensions: it has 1 to 32");
    assert!(wrong(&[8], IoGrid { rows: 0, ..good }).starts_with("a process grid of [0]: each"));
    let rows = 1 << 31;
    assert!(wrong(&[8], IoGrid { rows, ..good }).starts_with("a process grid of [2147483648, 8]"));
    // A row of processors has more bytes than there are places in a round.
    let tu = u64::MAX;
    assert!(
        wrong(&[8], IoGrid { tu, ..good }).starts_with("blocks of 2305843009213693951 indices")
    );
    assert!(matches!(
        IoDistribution::new(&[8, 8], good).unwrap().on_ranks(&[1]),
        Err(isthmus_redistribute::LayoutError::RankCount {
            given: 1,
            wanted: 64
        })
    ));
    assert_eq!(
        IoDistributionError::NoBytes { what: "tu" }.to_string(),
        wrong(&[8], IoGrid { tu: 0, ..good })
    );
}

#[test]
fn ranks_have_numbers_of_their_own() {
    let numbers: Vec<u32> = (100..104).rev().collect();
    let found = spread(&[8], (2, 2), 2, 4, 1).on_ranks(&numbers).unwrap();
    let ranks: Vec<u32> = units(&found)
        .flat_map(|unit| unit.blocks)
        .map(|block| found.layout().rank(block.rank_index))
        .collect();
    assert_eq!(ranks, [103, 102, 101, 100]);
}
