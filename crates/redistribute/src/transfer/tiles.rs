//! Arrays filled from several sides at once, a stretch after the other.

use super::kernel::{Waiting, alternate, copy};
use super::walk::Walk;
use super::{ArrayMut, TransferError};
use rayon::prelude::*;

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
        if !walks.is_empty() {
            cut(array, element, number, &mut tiles);
        }
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

fn cut<'a>(array: &'a mut ArrayMut<'_>, element: u64, number: usize, tiles: &mut Vec<Tile<'a>>) {
    let slowest = array.strides.iter().copied().max();
    let stride = slowest.unwrap_or(0).max(element);
    let rows = (TILE_BYTES / stride).max(1);
    let chunks = array.bytes.chunks_mut((rows * stride) as usize);
    for (place, bytes) in chunks.enumerate() {
        let low = place as u64 * rows;
        tiles.push(Tile {
            array: number,
            low,
            high: low + rows,
            bytes,
        });
    }
}
