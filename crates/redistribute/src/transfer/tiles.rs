//! Filling of arrays from several sources, one tile of the array after another.

use super::kernel::{SourceRuns, copy, interleave};
use super::walk::Walk;
use super::{ArrayMut, TransferError};
use crate::span::merged;
use rayon::prelude::*;
use std::ops::Range;

/// Size in bytes of the tile that a thread fills at a time. The tile stays in the cache of the
/// thread while runs of several ranks are interleaved.
const TILE_BYTES: u64 = 128 << 10;

/// The copies that fill one array: the runs to copy (a `Walk`), and the bytes of their source.
pub(super) type Walks<'a> = Vec<(Walk, &'a [u8])>;

/// A tile: a range of indices of the slowest dimension of an array.
struct Tile<'a> {
    /// Index of the array to which the tile belongs.
    array: usize,
    /// First index of the tile in the slowest dimension.
    low: u64,
    /// End (exclusive) of the indices of the tile in the slowest dimension.
    high: u64,
    /// The bytes of the array from index `low` on.
    bytes: &'a mut [u8],
}

/// Fill each destination array from its sources, with this number of threads. `Walks` lists the
/// runs of bytes to copy.
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
        let ranges = walks.iter().map(|(walk, _)| walk.index_range()).collect();
        let tile_ranges = tile_ranges(ranges, rows(stride));
        cut(array.bytes, stride, tile_ranges, number, &mut tiles);
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

/// Fill a tile of a destination array with the runs of its sources that lie in the tile.
fn fill_tile(tile: Tile<'_>, all: &[Walks<'_>]) {
    let (to, mut interleaved) = (tile.bytes, Vec::new());
    for (walk, bytes) in &all[tile.array] {
        walk.runs_within((tile.low, tile.high), &mut |runs, at| {
            let from = &bytes[at.0..];
            if runs.count > 1 && runs.len < runs.to_step {
                interleaved.push(SourceRuns {
                    runs,
                    from,
                    to: at.1,
                });
            } else {
                copy(runs, from, &mut to[at.1..]);
            }
        });
    }
    interleaved.sort_by_key(|interleaved| interleaved.to);
    let mut left = interleaved.as_slice();
    while let [first, behind @ ..] = left {
        // Find the runs that are interleaved with the first run: they start before its end and have
        // the same step.
        let between = behind
            .iter()
            .take_while(|other| other.to < first.end() && other.runs.to_step == first.runs.to_step);
        let (group, rest) = left.split_at(1 + between.count());
        left = rest;
        interleave(group, to);
    }
}

/// Return the number of rows of a tile (indices of the slowest array dimension), at least 1. A row
/// has `stride` bytes, and a tile should have about [`TILE_BYTES`].
fn rows(stride: u64) -> u64 {
    (TILE_BYTES / stride).max(1)
}

/// Return the index ranges of the tiles: disjoint, in order, and with at most `rows` indices of the
/// slowest dimension each. They cover the index ranges of all walks and few other indices. So the
/// cost of a piece of a message depends on the size of the piece, not on that of the destination
/// array.
fn tile_ranges(mut ranges: Vec<Range<u64>>, rows: u64) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| range.start);
    // Merge neighbouring ranges: one tile for all costs less than one tile for each.
    let ranges = merged(ranges, rows).into_iter();
    let each = ranges.flat_map(|range| {
        let lows = range.clone().step_by(rows as usize);
        lows.map(move |low| low..range.end.min(low + rows))
    });
    each.collect()
}

/// Cut the bytes of an array into tiles by their index ranges, and append these to `tiles`.
fn cut<'a>(
    bytes: &'a mut [u8],
    stride: u64,
    tile_ranges: Vec<Range<u64>>,
    array: usize,
    tiles: &mut Vec<Tile<'a>>,
) {
    let (mut left, mut before) = (bytes, 0);
    for Range { start, end } in tile_ranges {
        let (_, from) = left.split_at_mut(((start - before) * stride) as usize);
        // The rest of the array may be shorter than the tile, because its last row need not fill
        // its stride.
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

    /// Number of bytes of an element.
    const ELEMENT: u64 = 8;
    /// Number of elements of a piece of a message.
    const PIECE: u64 = 1 << 19;

    /// Return the number of tiles of a piece in the middle of the message from rank 5 to a rank
    /// that has the whole array.
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
        let ranges = walks.map(|walk| walk.index_range()).collect();
        tile_ranges(ranges, rows(to.into_iter().max().unwrap())).len() as u64
    }

    /// Checks that the number of tiles of a piece of a message does not depend on the size of the
    /// array.
    #[test]
    fn the_number_of_tiles_does_not_depend_on_the_array() {
        let of_piece = PIECE * ELEMENT / TILE_BYTES;
        for exponent in [24, 30, 36, 44, 56] {
            let elements = 1_u64 << exponent;
            let over = |dim| Layout::grid(&[elements], Grid::new(&[16], &[dim])).unwrap();
            assert_eq!(tiles_of(over(Dim::block(0)), Order::C), of_piece);
            // Interleave the elements of a rank with those of 15 other ranks. Blocks start and end
            // at any position in a tile.
            let cyclic = tiles_of(over(Dim::cyclic(0, 100)), Order::C);
            assert!(
                (16 * of_piece..=16 * of_piece + 1).contains(&cyclic),
                "{cyclic}"
            );
            // Check arrays with rows of 1,024 elements, of which a rank has 256 consecutive ones,
            // and arrays with columns of the same lengths.
            for (order, shape) in [
                (Order::C, [elements >> 10, 1024]),
                (Order::F, [1024, elements >> 10]),
            ] {
                let grid = Grid::new(&[4, 4], &[Dim::block(0), Dim::block(1)]);
                let layout = Layout::grid(&shape, grid).unwrap();
                assert_eq!(tiles_of(layout, order), 4 * of_piece);
            }
            // Receive elements only at both ends of an array: no tiles lie in between.
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
        /// Checks that tiles are disjoint and cover all index ranges.
        #[test]
        fn tiles_are_disjoint_and_cover_all_ranges(
            given in prop::collection::vec((0..400_u64, 0..60_u64), 0..20),
            rows in 1..40_u64,
        ) {
            let ranges: Vec<Range<u64>> = given.iter().map(|&(from, len)| from..from + len).collect();
            let tiles = tile_ranges(ranges.clone(), rows);
            prop_assert!(tiles.windows(2).all(|pair| pair[0].end <= pair[1].start));
            prop_assert!(tiles.iter().all(|tile| !tile.is_empty() && tile.end - tile.start <= rows));
            let is_in = |index| tiles.iter().any(|tile| tile.contains(&index));
            prop_assert!(ranges.iter().cloned().flatten().all(is_in));
            // The number of tiles is at most that of the whole array, and at most the number that
            // the ranges need.
            let most: u64 = ranges.iter().map(|range| (range.end - range.start) / rows + 2).sum();
            let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
            prop_assert!(tiles.len() as u64 <= most.min(end / rows + 1));
        }
    }
}
