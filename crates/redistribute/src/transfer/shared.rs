//! All ranks in the memory of one process, moved by its threads.

use super::array::Place;
use super::walk::Walk;
use super::{Array, ArrayMut, TransferError};
use crate::comb::Comb;
use crate::layout::{self, Layout};
use crate::plan::Plan;
use rayon::prelude::*;

/// Bytes that one thread fills before it takes the next: few enough to stay in its cache while several ranks' runs
/// are put between one another.
const TILE_BYTES: u64 = 128 << 10;

/// Moves an array of one layout into one of another: `from[i]` are the parts of the `i`th rank of the layout that
/// data come from, `to[i]` those of the one they go to; elements have `element` bytes. With the same input the same
/// bytes on any number of threads: no two write to one place.
///
/// # Errors
///
/// If arrays do not fit their layouts (nothing is moved then), or threads cannot be started.
pub fn redistribute(
    plan: &Plan,
    element: u64,
    from: &[Vec<Array<'_>>],
    to: &mut [Vec<ArrayMut<'_>>],
    threads: usize,
) -> Result<(), TransferError> {
    if element == 0 {
        return Err(TransferError::NoElement);
    }
    check("from", plan.from(), from, |place, part, array| {
        place.check(part, (array.bytes.len(), &array.strides), element)
    })?;
    check("to", plan.to(), to, |place, part, array| {
        place.check(part, (array.bytes.len(), &array.strides), element)?;
        place.check_apart(part, &array.strides, element)
    })?;
    let mut tiles = Vec::new();
    let mut all_walks = Vec::new();
    for (rank, arrays) in to.iter_mut().enumerate() {
        let parts = plan.to().parts(rank as u32);
        for (part, array) in parts.iter().zip(arrays.iter_mut()) {
            // Nothing depends on the stride of a single index, but it would be taken for the slowest dimension.
            let single = part
                .iter()
                .zip(&mut array.strides)
                .filter(|(comb, _)| comb.size() == 1);
            single.for_each(|(_, stride)| *stride = element);
        }
        let walks = walks(plan, rank as u32, element, from, arrays);
        let begun = all_walks.len();
        all_walks.extend(walks);
        for (part, array) in arrays.iter_mut().enumerate() {
            cut(&parts[part], array, element, begun + part, &mut tiles);
        }
    }
    let fill = |tile: Tile<'_>| {
        for (walk, bytes) in &all_walks[tile.walks] {
            walk.copy_part((tile.low, tile.high), bytes, tile.bytes);
        }
    };
    if threads <= 1 {
        tiles.into_iter().for_each(fill);
        return Ok(());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| TransferError::Threads(error.to_string()))?;
    pool.install(|| tiles.into_par_iter().for_each(fill));
    Ok(())
}

/// What goes into one part, and the arrays that it comes from.
type Walks<'a> = Vec<(Walk, &'a [u8])>;

fn walks<'a>(
    plan: &Plan,
    rank: u32,
    element: u64,
    from: &[Vec<Array<'a>>],
    to: &[ArrayMut<'_>],
) -> Vec<Walks<'a>> {
    let mut walks: Vec<Walks<'a>> = to.iter().map(|_| Vec::new()).collect();
    for message in plan.receives(rank) {
        for section in plan.sections(message.peer, rank) {
            let source = &from[message.peer as usize][section.from_part];
            let strides = &to[section.to_part].strides;
            let walk = Walk::new(&section.dims, element, &source.strides, strides);
            walks[section.to_part].push((walk, source.bytes));
        }
    }
    walks
}

/// A stretch of indices of the slowest dimension of a part.
struct Tile<'a> {
    /// Which part.
    walks: usize,
    low: u64,
    high: u64,
    /// From the first of them on.
    bytes: &'a mut [u8],
}

fn cut<'a>(
    part: &[Comb],
    array: &'a mut ArrayMut<'_>,
    element: u64,
    walks: usize,
    tiles: &mut Vec<Tile<'a>>,
) {
    if layout::size(part) == 0 {
        return;
    }
    // As `Walk` orders dimensions: of those with one stride the first is the slowest.
    let slowest = (0..part.len()).rev().max_by_key(|&dim| array.strides[dim]);
    let slowest = slowest.expect("arrays have dimensions");
    let (extent, stride) = (part[slowest].size(), array.strides[slowest].max(element));
    let rows = (TILE_BYTES / stride).max(1);
    let chunks = array.bytes.chunks_mut((rows * stride) as usize);
    for (number, bytes) in chunks.take(extent.div_ceil(rows) as usize).enumerate() {
        let low = number as u64 * rows;
        tiles.push(Tile {
            walks,
            low,
            high: (low + rows).min(extent),
            bytes,
        });
    }
}

fn check<A>(
    side: &'static str,
    layout: &Layout,
    ranks: &[Vec<A>],
    fits: impl Fn(Place, &[Comb], &A) -> Result<(), TransferError>,
) -> Result<(), TransferError> {
    if ranks.len() as u64 != layout.rank_count() {
        return Err(TransferError::Ranks {
            side,
            given: ranks.len(),
            wanted: layout.rank_count(),
        });
    }
    for (rank, arrays) in ranks.iter().enumerate() {
        let rank = rank as u32;
        let parts = layout.parts(rank);
        if arrays.len() != parts.len() {
            return Err(TransferError::Parts {
                side,
                rank,
                given: arrays.len(),
                wanted: parts.len(),
            });
        }
        for (part, (comb, array)) in parts.iter().zip(arrays).enumerate() {
            fits(Place::of(side, part).at(rank), comb, array)?;
        }
    }
    Ok(())
}
