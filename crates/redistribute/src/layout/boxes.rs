//! Arrays in hyper-rectangles of any size.

use super::Part;
use super::error::LayoutError;
use crate::comb::Comb;
use std::collections::BTreeSet;

/// A hyper-rectangle: of each dimension the indices from one to before another.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Block {
    /// The first index in each dimension.
    pub from: Vec<u64>,
    /// Behind the last.
    pub to: Vec<u64>,
}

impl Block {
    pub(super) fn part(&self) -> Part {
        let dims = self.from.iter().zip(&self.to);
        dims.map(|(&from, &to)| Comb::run(from, to)).collect()
    }

    fn is_empty(&self) -> bool {
        self.from.iter().zip(&self.to).any(|(from, to)| from == to)
    }

    fn size(&self) -> u64 {
        self.from
            .iter()
            .zip(&self.to)
            .map(|(from, to)| to - from)
            .product()
    }

    fn wrong(&self, shape: &[u64]) -> Option<String> {
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

    /// The first element that is in both.
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

/// By rank its boxes, of which no two hold the same element.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Boxes {
    blocks: Vec<Vec<Block>>,
}

impl Boxes {
    /// Boxes that hold each element once.
    pub(super) fn new(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
        let boxes = Self::some(shape, blocks)?;
        match boxes.first_missing(shape) {
            Some(index) => Err(LayoutError::Missing { index }),
            None => Ok(boxes),
        }
    }

    /// Boxes that hold each element once or not at all.
    pub(super) fn some(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
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
            if let Some(problem) = block.wrong(shape) {
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

    /// The first element, in order of rows, that is in none of them.
    pub(super) fn first_missing(&self, shape: &[u64]) -> Option<Vec<u64>> {
        let filled = || {
            self.blocks
                .iter()
                .flatten()
                .filter(|block| !block.is_empty())
        };
        // No two hold the same element: those in boxes need but be counted where none is missing.
        let held: u128 = filled().map(|block| u128::from(block.size())).sum();
        let is_whole = held == u128::from(shape.iter().product::<u64>());
        let missing = || search(shape, &filled().collect::<Vec<_>>(), 0);
        (!is_whole).then(missing).flatten()
    }

    pub(super) fn ranks(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn of(&self, rank: u32) -> &[Block] {
        &self.blocks[rank as usize]
    }

    /// Each rank's, in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[Block]> {
        self.blocks.iter().map(Vec::as_slice)
    }
}

/// Rank and part, and the box.
type Named<'b> = ((usize, usize), &'b Block);

/// An element, and rank and part of both boxes that hold it.
type Twice = (Vec<u64>, [(usize, usize); 2]);

/// Two boxes that share elements, and the first element that they share: a sweep along that dimension which most
/// beginnings of boxes tell apart.
fn overlap(blocks: &[Named<'_>]) -> Option<Twice> {
    let dims = blocks.first()?.1.from.len();
    let beginnings = |dim: usize| {
        let all = blocks.iter().map(|(_, block)| block.from[dim]);
        all.collect::<BTreeSet<u64>>().len()
    };
    let along = (0..dims).max_by_key(|&dim| beginnings(dim))?;
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    order.sort_by_key(|&number| blocks[number].1.from[along]);
    // Started boxes, ordered by their ends.
    let mut open: BTreeSet<(u64, usize)> = BTreeSet::new();
    for number in order {
        let (name, block) = blocks[number];
        while open
            .first()
            .is_some_and(|&(end, _)| end <= block.from[along])
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
        open.insert((block.to[along], number));
    }
    None
}

/// From dimension `dim` on the indices of the first element, in order of rows, that is in none of these boxes, all of
/// which hold its indices in the dimensions before.
fn search(shape: &[u64], blocks: &[&Block], dim: usize) -> Option<Vec<u64>> {
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
        let mut index = search(shape, &here, dim + 1)?;
        index.insert(0, cut);
        Some(index)
    })
}
