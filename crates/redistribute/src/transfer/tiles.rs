//! Arrays filled from several sides at once, a stretch after the other.

use super::kernel::{Waiting, alternate, copy};
use super::walk::Walk;
use super::{ArrayMut, TransferError};
use crate::span::joined;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes that one thread fills before it takes the next: few enough to stay in its cache while several ranks' runs
/// are put between one another.
const TILE_BYTES: u64 = 128 << 10;

/// What goes into an array, and the bytes that it comes from.
pub(super) type Walks<'a> = Vec<(Walk, &'a [u8])>;

/// A stretch of indices of the slowest dimension of an array.
struct Tile<'a> {
    /// The how manieth array.
    array: usize,
    low: u64,
    high: u64,
    /// From the first of them on.
    bytes: &'a mut [u8],
}

/// Fills each array from its walks, with so many threads.
pub(super) fn fill(
    fillings: Vec<(&mut ArrayMut<'_>, Walks<'_>)>,
    element: u64,
    threads: usize,
) -> Result<(), TransferError> {
    let mut tiles = Vec::new();
    let mut all = Vec::with_capacity(fillings.len());
    for (number, (array, walks)) in fillings.into_iter().enumerate() {
        let slowest = array.strides.iter().copied().max();
        let stride = slowest.unwrap_or(0).max(element);
        let reaches = walks.iter().map(|(walk, _)| walk.reach()).collect();
        let stretches = stretches(reaches, rows(stride));
        cut(array.bytes, stride, stretches, number, &mut tiles);
        all.push(walks);
    }
    let one = |tile: Tile<'_>| fill_tile(tile, &all);
    if threads <= 1 || tiles.len() <= 1 {
        tiles.into_iter().for_each(one);
        return Ok(());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| TransferError::Threads(error.to_string()))?;
    pool.install(|| tiles.into_par_iter().for_each(one));
    Ok(())
}

fn fill_tile(tile: Tile<'_>, all: &[Walks<'_>]) {
    let (to, mut waiting) = (tile.bytes, Vec::new());
    for (walk, bytes) in &all[tile.array] {
        walk.runs_within((tile.low, tile.high), &mut |runs, at| {
            let from = &bytes[at.0..];
            if runs.count > 1 && runs.len < runs.to_step {
                waiting.push(Waiting {
                    runs,
                    from,
                    to: at.1,
                });
            } else {
                copy(runs, from, &mut to[at.1..]);
            }
        });
    }
    waiting.sort_by_key(|waiting| waiting.to);
    let mut left = waiting.as_slice();
    while let [first, behind @ ..] = left {
        // Those that begin before it ends and go on as it does lie between its runs.
        let between = behind
            .iter()
            .take_while(|other| other.to < first.end() && other.runs.to_step == first.runs.to_step);
        let (group, rest) = left.split_at(1 + between.count());
        left = rest;
        alternate(group, to);
    }
}

/// Indices of a tile, from each of which to the next are `stride` bytes.
fn rows(stride: u64) -> u64 {
    (TILE_BYTES / stride).max(1)
}

/// The stretches of at most `rows` indices of the slowest dimension, in order and apart, that tiles are: all of the
/// reaches of what is filled, and little beside them, so that a piece of a message costs what is in it, however large
/// the array is that it goes to.
fn stretches(mut reaches: Vec<Range<u64>>, rows: u64) -> Vec<Range<u64>> {
    reaches.sort_unstable_by_key(|reach| reach.start);
    // A tile over what lies close to one another is less than one for each.
    let reaches = joined(reaches, rows).into_iter();
    let each = reaches.flat_map(|reach| {
        let lows = reach.clone().step_by(rows as usize);
        lows.map(move |low| low..reach.end.min(low + rows))
    });
    each.collect()
}

fn cut<'a>(
    bytes: &'a mut [u8],
    stride: u64,
    stretches: Vec<Range<u64>>,
    array: usize,
    tiles: &mut Vec<Tile<'a>>,
) {
    let (mut left, mut before) = (bytes, 0);
    for Range { start, end } in stretches {
        let (_, from) = left.split_at_mut(((start - before) * stride) as usize);
        // What the last index holds may end before the next would begin.
        let size = ((end - start) * stride).min(from.len() as u64);
        let (bytes, behind) = from.split_at_mut(size as usize);
        (left, before) = (behind, end);
        tiles.push(Tile {
            array,
            low: start,
            high: end,
            bytes,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Order, strides};
    use super::*;
    use crate::layout::{Block, Dim, Grid, Layout};
    use crate::{Plan, Section, piece};
    use proptest::prelude::*;
    use std::sync::Arc;

    const ELEMENT: u64 = 8;
    /// Elements of a piece.
    const PIECE: u64 = 1 << 19;

    /// How many tiles hold a piece from the middle of what rank 5 sends to one that has all.
    fn tiles_of(layout: Layout, order: Order) -> u64 {
        let shape = layout.shape().to_vec();
        let plan = Plan::new(Arc::new(layout), Arc::new(Layout::whole(&shape).unwrap())).unwrap();
        let sections = plan.sections(5, 0);
        let all: u64 = sections.iter().map(Section::size).sum();
        let first = (all - PIECE) / 2;
        let piece = piece(&sections, first..first + PIECE, order == Order::F);
        assert_eq!(piece.iter().map(Section::size).sum::<u64>(), PIECE);
        let to = strides(&shape, ELEMENT, order);
        let walks = piece.iter().map(|section| {
            let from = strides(&section.extents(), ELEMENT, order);
            Walk::new(&section.dims, ELEMENT, &from, &to)
        });
        let reaches = walks.map(|walk| walk.reach()).collect();
        stretches(reaches, rows(to.into_iter().max().unwrap())).len() as u64
    }

    /// How many tiles a piece is put into does not depend on how large the array is.
    #[test]
    fn a_piece_costs_what_is_in_it() {
        let of_piece = PIECE * ELEMENT / TILE_BYTES;
        for exponent in [24, 30, 36, 44, 56] {
            let elements = 1_u64 << exponent;
            let over = |dim| Layout::grid(&[elements], Grid::new(&[16], &[dim])).unwrap();
            assert_eq!(tiles_of(over(Dim::block(0)), Order::C), of_piece);
            // Between the elements of a rank lie those of 15 others; blocks begin and end anywhere in tiles.
            let cyclic = tiles_of(over(Dim::cyclic(0, 100)), Order::C);
            assert!(
                (16 * of_piece..=16 * of_piece + 1).contains(&cyclic),
                "{cyclic}"
            );
            // Rows of 1,024 elements, of which a rank has 256 next to one another, and columns of as many.
            for (order, shape) in [
                (Order::C, [elements >> 10, 1024]),
                (Order::F, [1024, elements >> 10]),
            ] {
                let grid = Grid::new(&[4, 4], &[Dim::block(0), Dim::block(1)]);
                let layout = Layout::grid(&shape, grid).unwrap();
                assert_eq!(tiles_of(layout, order), 4 * of_piece);
            }
            // What lies at both ends of an array has no tiles in between.
            let ends = [0, elements - PIECE / 2].map(|from| Block {
                from: vec![from],
                to: vec![from + PIECE / 2],
            });
            let mut ranks = vec![vec![]; 6];
            ranks[5].extend(ends);
            let apart = Layout::some_boxes(&[elements], ranks).unwrap();
            assert_eq!(tiles_of(apart, Order::C), of_piece);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]
        #[test]
        fn tiles_are_apart_and_hold_all_reaches(
            given in prop::collection::vec((0..400_u64, 0..60_u64), 0..20),
            rows in 1..40_u64,
        ) {
            let reaches: Vec<Range<u64>> = given.iter().map(|&(from, len)| from..from + len).collect();
            let tiles = stretches(reaches.clone(), rows);
            prop_assert!(tiles.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(tiles.iter().all(|tile| !tile.is_empty() && tile.end - tile.start <= rows));
            let is_in = |index| tiles.iter().any(|tile| tile.contains(&index));
            prop_assert!(reaches.iter().cloned().flatten().all(is_in));
            // No more than the whole array would be cut into, and no more than the reaches ask for.
            let most: u64 = reaches.iter().map(|reach| (reach.end - reach.start) / rows + 2).sum();
            let end = reaches.iter().map(|reach| reach.end).max().unwrap_or(0);
            prop_assert!(tiles.len() as u64 <= most.min(end / rows + 1));
        }
    }
}
