//! Layouts in which each rank has hyper-rectangles of any size.

use super::Part;
use super::error::LayoutError;
use crate::comb::Comb;
use std::collections::BTreeSet;

/// A hyper-rectangle: an interval of indices in each dimension.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Block {
    /// First index of the box in each dimension.
    pub from: Vec<u64>,
    /// End (exclusive) of the indices of the box in each dimension.
    pub to: Vec<u64>,
}

impl Block {
    /// Return the box as a part of a layout: its indices in each dimension.
    pub(super) fn part(&self) -> Part {
        let dims = self.from.iter().zip(&self.to);
        dims.map(|(&from, &to)| Comb::run(from, to)).collect()
    }

    /// Return whether the box has no elements.
    fn is_empty(&self) -> bool {
        self.from.iter().zip(&self.to).any(|(from, to)| from == to)
    }

    /// Return the number of elements of the box.
    fn size(&self) -> u64 {
        self.from
            .iter()
            .zip(&self.to)
            .map(|(from, to)| to - from)
            .product()
    }

    /// Return the reason why the box does not fit an array of this shape; `None` if it fits.
    fn problem(&self, shape: &[u64]) -> Option<String> {
        if self.from.len() != shape.len() || self.to.len() != shape.len() {
            let (from, to) = (self.from.len(), self.to.len());
            return Some(format!(
                "it begins in {from} and ends in {to} dimensions, but the array has {}",
                shape.len()
            ));
        }
        for (dim, &extent) in shape.iter().enumerate() {
            let (from, to) = (self.from[dim], self.to[dim]);
            if from > to || to > extent {
                return Some(format!(
                    "it goes from {from} to {to} in dimension {dim}, which has the indices 0 to before {extent}"
                ));
            }
        }
        None
    }

    /// Return the index of the first element that is in both boxes; `None` if no element is.
    fn first_shared(&self, other: &Self) -> Option<Vec<u64>> {
        let mut index = Vec::new();
        for dim in 0..self.from.len() {
            let from = self.from[dim].max(other.from[dim]);
            if from >= self.to[dim].min(other.to[dim]) {
                return None;
            }
            index.push(from);
        }
        Some(index)
    }
}

/// Layout in boxes (hyper-rectangles): the boxes of each rank. No two boxes have a common element.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Boxes {
    blocks: Vec<Vec<Block>>,
}

impl Boxes {
    /// Create a layout in boxes, after a check that each element of the array is in exactly one
    /// box.
    pub(super) fn new(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
        let boxes = Self::partial(shape, blocks)?;
        match boxes.first_missing(shape) {
            Some(index) => Err(LayoutError::Missing { index }),
            None => Ok(boxes),
        }
    }

    /// Create a layout in boxes, one list of blocks for each rank, after a check that each element of
    /// the array is in at most one of them. Elements in none belong to no rank.
    pub(super) fn partial(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
        if blocks.is_empty() || blocks.len() as u64 > super::RANKS_MAX {
            return Err(LayoutError::BoxRanks {
                given: blocks.len() as u64,
            });
        }
        let all = || {
            let ranks = blocks.iter().enumerate();
            ranks.flat_map(|(rank, parts)| {
                let parts = parts.iter().enumerate();
                parts.map(move |(part, block)| ((rank, part), block))
            })
        };
        for ((rank, part), block) in all() {
            if let Some(problem) = block.problem(shape) {
                return Err(LayoutError::Box {
                    rank,
                    part,
                    problem,
                });
            }
        }
        let filled: Vec<_> = all().filter(|(_, block)| !block.is_empty()).collect();
        if let Some((index, of)) = overlap(&filled) {
            return Err(LayoutError::Overlap { index, of });
        }
        Ok(Self { blocks })
    }

    /// Return the index of the first element, in row-major order, that is in no box.
    pub(super) fn first_missing(&self, shape: &[u64]) -> Option<Vec<u64>> {
        let filled = || {
            self.blocks
                .iter()
                .flatten()
                .filter(|block| !block.is_empty())
        };
        // Sum the sizes of all boxes: since no two share elements, the sum shows whether an element
        // is missing.
        let held: u128 = filled().map(|block| u128::from(block.size())).sum();
        let is_whole = held == u128::from(shape.iter().product::<u64>());
        let missing = || first_missing_from(shape, &filled().collect::<Vec<_>>(), 0);
        (!is_whole).then(missing).flatten()
    }

    /// Return the number of ranks, including those without boxes.
    pub(super) fn ranks(&self) -> usize {
        self.blocks.len()
    }

    /// Return the boxes of one rank.
    pub(crate) fn of_rank(&self, rank: u32) -> &[Block] {
        &self.blocks[rank as usize]
    }

    /// Iterate over the ranks in order, with the list of boxes of each.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[Block]> {
        self.blocks.iter().map(Vec::as_slice)
    }
}

/// A box, with the index of its rank and its own index at that rank.
type NamedBlock<'b> = ((usize, usize), &'b Block);

/// The index of an array element, and the two boxes that contain it: for each its rank and its
/// index at that rank.
type SharedElement = (Vec<u64>, [(usize, usize); 2]);

/// Return two boxes that share elements, and the first element that they share. The search is a
/// sweep along the dimension in which the starts of boxes differ most.
fn overlap(blocks: &[NamedBlock<'_>]) -> Option<SharedElement> {
    let dims = blocks.first()?.1.from.len();
    let distinct_starts = |dim: usize| {
        let all = blocks.iter().map(|(_, block)| block.from[dim]);
        all.collect::<BTreeSet<u64>>().len()
    };
    let sweep_dim = (0..dims).max_by_key(|&dim| distinct_starts(dim))?;
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&number| blocks[number].1.from[sweep_dim]);
    // Boxes that the sweep along a dimension has entered and not left, ordered by their ends.
    let mut open: BTreeSet<(u64, usize)> = BTreeSet::new();
    for number in order {
        let (name, block) = blocks[number];
        while open
            .first()
            .is_some_and(|&(end, _)| end <= block.from[sweep_dim])
        {
            open.pop_first();
        }
        for &(_, other) in &open {
            let (of, other) = blocks[other];
            if let Some(index) = block.first_shared(other) {
                let mut both = [of, name];
                both.sort_unstable();
                return Some((index, both));
            }
        }
        open.insert((block.to[sweep_dim], number));
    }
    None
}

/// Return the indices, from dimension `dim` on, of the first element, in row-major order, that is
/// in no box. In the dimensions before `dim`, all these boxes contain the indices of the element.
fn first_missing_from(shape: &[u64], blocks: &[&Block], dim: usize) -> Option<Vec<u64>> {
    if dim == shape.len() {
        return blocks.is_empty().then(Vec::new);
    }
    let mut cuts: BTreeSet<u64> = BTreeSet::from([0]);
    for block in blocks {
        cuts.insert(block.from[dim]);
        cuts.insert(block.to[dim]);
    }
    cuts.remove(&shape[dim]);
    cuts.into_iter().find_map(|cut| {
        let here = blocks.iter().copied();
        let here: Vec<&Block> =
            (here.filter(|block| block.from[dim] <= cut && cut < block.to[dim])).collect();
        let mut index = first_missing_from(shape, &here, dim + 1)?;
        index.insert(0, cut);
        Some(index)
    })
}
