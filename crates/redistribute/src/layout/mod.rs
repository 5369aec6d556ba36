//! Layouts: the elements of a distributed array that each rank has.

mod boxes;
mod error;
mod grid;

pub use boxes::{Block, Boxes};
pub use error::LayoutError;
pub use grid::{Dim, Grid, GridOrder, Spread};

use crate::comb::Comb;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of dimensions of an array.
pub const DIMS_MAX: usize = 32;
/// Maximum number of ranks of a layout.
pub const RANKS_MAX: u64 = 1 << 24;
/// Upper bound of the number of elements of an array and of the indices of a dimension. Sums and
/// products of two such numbers fit in 128 bits, and differences in 64.
pub const ELEMENTS_MAX: u64 = 1 << 62;

/// Layout of an array: the elements that each rank has.
///
/// A rank has *parts*. Each part is an array of its own with as many dimensions as the whole. A
/// rank of a [`Grid`] has one part, a rank of [`Boxes`] any number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    shape: Vec<u64>,
    form: Form,
    /// For each rank of the layout, its number in the parallel program; `None` if all numbers equal
    /// the indices.
    ranks: Option<Vec<u32>>,
}

/// Form of a layout: a process grid or boxes, from which the parts of all ranks follow.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Form {
    Grid(Grid),
    Boxes(Boxes),
}

/// Part of an array: for each dimension a comb, which is a set of evenly spaced runs of indices.
pub type Part = Vec<Comb>;

impl Layout {
    /// Create a layout over a grid of processes.
    ///
    /// # Errors
    /// The shape has no or too many dimensions or elements, or the grid does not fit the shape: see
    /// [`LayoutError`].
    pub fn grid(shape: &[u64], grid: Grid) -> Result<Self, LayoutError> {
        check_shape(shape)?;
        grid.check(shape)?;
        Ok(Self {
            shape: shape.to_vec(),
            form: Form::Grid(grid),
            ranks: None,
        })
    }

    /// Create a layout in hyper-rectangles; `blocks` are those of each rank.
    ///
    /// # Errors
    /// The shape has no or too many dimensions or elements, or an element is in no box or in
    /// several: see [`LayoutError`].
    pub fn boxes(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
        check_shape(shape)?;
        Ok(Self::of_boxes(shape, Boxes::new(shape, blocks)?))
    }

    /// Create a layout of some elements of an array in hyper-rectangles; `blocks` are those of each
    /// rank. An example is the part of a file that is in memory at a time. Elements that no rank
    /// has are neither sent nor received.
    ///
    /// # Errors
    /// The shape has no or too many dimensions or elements, or two boxes have the same element.
    pub fn some_boxes(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
        check_shape(shape)?;
        Ok(Self::of_boxes(shape, Boxes::partial(shape, blocks)?))
    }

    /// Create a layout from boxes that are already checked.
    fn of_boxes(shape: &[u64], boxes: Boxes) -> Self {
        Self {
            form: Form::Boxes(boxes),
            shape: shape.to_vec(),
            ranks: None,
        }
    }

    /// Create a layout with the whole array on one rank.
    ///
    /// # Errors
    /// The shape has no or too many dimensions or elements.
    pub fn whole(shape: &[u64]) -> Result<Self, LayoutError> {
        Self::grid(shape, Grid::new(&[], &vec![Dim::WHOLE; shape.len()]))
    }

    /// Return the same layout with other numbers for its ranks: `ranks[i]` is the number of its rank `i`.
    ///
    /// # Errors
    /// The number of ranks is not that of the layout, or two ranks get the same number.
    pub fn on_ranks(mut self, ranks: &[u32]) -> Result<Self, LayoutError> {
        if ranks.len() as u64 != self.rank_count() {
            return Err(LayoutError::RankCount {
                given: ranks.len() as u64,
                wanted: self.rank_count(),
            });
        }
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(LayoutError::RankTwice { rank: twice[0] });
        }
        self.ranks = Some(ranks.to_vec());
        Ok(self)
    }

    /// Return a hash by which processes of the same program can compare layouts without sending
    /// them to one another. Different layouts have different hashes, except with a probability of
    /// 2^-64.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Return the number of indices of each dimension.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Return the number of ranks of the layout, including those without elements.
    pub fn rank_count(&self) -> u64 {
        match &self.form {
            Form::Grid(grid) => grid.size(),
            Form::Boxes(boxes) => boxes.ranks() as u64,
        }
    }

    /// Convert the index of a rank in the layout to the number of the rank in the parallel program.
    pub fn rank(&self, index: u32) -> u32 {
        (self.ranks.as_ref()).map_or(index, |ranks| ranks[index as usize])
    }

    /// Convert the number of a rank in the parallel program to its index in the layout; `None` if
    /// the layout does not contain the rank.
    pub fn index_of(&self, rank: u32) -> Option<u32> {
        match &self.ranks {
            None => (u64::from(rank) < self.rank_count()).then_some(rank),
            Some(ranks) => {
                let index = ranks.iter().position(|&other| other == rank)?;
                Some(index as u32)
            }
        }
    }

    /// Return the parts (separate arrays) of the rank with this index in the layout.
    pub fn parts(&self, index: u32) -> Vec<Part> {
        match &self.form {
            Form::Grid(grid) => vec![grid.part(&self.shape, index)],
            Form::Boxes(boxes) => boxes.of_rank(index).iter().map(Block::part).collect(),
        }
    }

    /// Return the number of elements of rank `index` of the layout.
    pub fn element_count(&self, index: u32) -> u64 {
        self.parts(index).iter().map(|part| size(part)).sum()
    }

    /// Return the number of ranks that have a copy of each element: 1 without replication.
    pub fn replicas(&self) -> u64 {
        match &self.form {
            Form::Grid(grid) => grid.replicas(),
            Form::Boxes(_) => 1,
        }
    }

    /// Return the first element, in row-major order, that no rank has. Only layouts of
    /// [`Self::some_boxes`] can have such elements.
    pub fn first_missing(&self) -> Option<Vec<u64>> {
        match &self.form {
            Form::Grid(_) => None,
            Form::Boxes(boxes) => boxes.first_missing(&self.shape),
        }
    }

    /// Return the grid of the layout; `None` if the layout has boxes.
    pub fn as_grid(&self) -> Option<&Grid> {
        match &self.form {
            Form::Grid(grid) => Some(grid),
            Form::Boxes(_) => None,
        }
    }

    /// Return the boxes of the layout; `None` if the layout has a grid.
    pub(crate) fn as_boxes(&self) -> Option<&Boxes> {
        match &self.form {
            Form::Grid(_) => None,
            Form::Boxes(boxes) => Some(boxes),
        }
    }
}

/// Return the number of elements of a part.
pub fn size(part: &[Comb]) -> u64 {
    part.iter().map(Comb::size).product()
}

/// Check the number of dimensions and elements of an array.
fn check_shape(shape: &[u64]) -> Result<(), LayoutError> {
    if shape.is_empty() || shape.len() > DIMS_MAX {
        return Err(LayoutError::Dimensions { given: shape.len() });
    }
    let mut elements = 1_u64;
    for &extent in shape {
        // Count an extent of 0 as 1, so that products of some of the extents are bounded as well.
        let product = elements
            .checked_mul(extent.max(1))
            .filter(|&all| all < ELEMENTS_MAX);
        elements = product.ok_or(LayoutError::TooManyElements)?;
    }
    Ok(())
}
