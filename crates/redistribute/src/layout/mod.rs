//! Layouts: which rank holds which elements of a distributed array.

mod boxes;
mod error;
mod grid;

pub use boxes::{Block, Boxes};
pub use error::LayoutError;
pub use grid::{Dim, Grid, GridOrder, Spread};

use crate::comb::Comb;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Dimensions that an array may have.
pub const DIMS_MAX: usize = 32;
/// Ranks that a layout may have.
pub const RANKS_MAX: u64 = 1 << 24;
/// Elements of an array, and indices of a dimension, stay below this: sums and products of two of them fit in 128
/// bits, differences in 64.
pub const ELEMENTS_MAX: u64 = 1 << 62;

/// Which rank holds which elements of an array.
///
/// A rank holds *parts*, each an array of its own with as many dimensions as the whole: one of a [`Grid`], any number
/// of [`Boxes`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    shape: Vec<u64>,
    form: Form,
    /// By place in the form the number of the rank in the program.
    ranks: Option<Vec<u32>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Form {
    Grid(Grid),
    Boxes(Boxes),
}

/// What a part holds: of each dimension a comb.
pub type Part = Vec<Comb>;

impl Layout {
    /// An array over a grid of processes.
    ///
    /// # Errors
    ///
    /// If the shape has no or too many dimensions or elements, or the grid does not fit it: see [`LayoutError`].
    pub fn grid(shape: &[u64], grid: Grid) -> Result<Self, LayoutError> {
        check_shape(shape)?;
        grid.check(shape)?;
        Ok(Self {
            shape: shape.to_vec(),
            form: Form::Grid(grid),
            ranks: None,
        })
    }

    /// An array in hyper-rectangles, by rank those that it holds.
    ///
    /// # Errors
    ///
    /// If the shape has no or too many dimensions or elements, or the boxes do not hold each element once: see
    /// [`LayoutError`].
    pub fn boxes(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
        check_shape(shape)?;
        Ok(Self::of_boxes(shape, Boxes::new(shape, blocks)?))
    }

    /// Some of an array in hyper-rectangles, by rank those that it holds: what of a file is in memory at a time. What
    /// no rank holds is neither sent nor received.
    ///
    /// # Errors
    ///
    /// If the shape has no or too many dimensions or elements, or two boxes hold the same element.
    pub fn some_boxes(shape: &[u64], blocks: Vec<Vec<Block>>) -> Result<Self, LayoutError> {
        check_shape(shape)?;
        Ok(Self::of_boxes(shape, Boxes::some(shape, blocks)?))
    }

    fn of_boxes(shape: &[u64], boxes: Boxes) -> Self {
        Self {
            form: Form::Boxes(boxes),
            shape: shape.to_vec(),
            ranks: None,
        }
    }

    /// The whole array on one rank.
    ///
    /// # Errors
    ///
    /// If the shape has no or too many dimensions or elements.
    pub fn whole(shape: &[u64]) -> Result<Self, LayoutError> {
        Self::grid(shape, Grid::new(&[], &vec![Dim::WHOLE; shape.len()]))
    }

    /// The same with other numbers for its ranks: `ranks[i]` is the number of the rank that is the `i`th.
    ///
    /// # Errors
    ///
    /// If there are not as many as the layout has, or two are the same.
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

    /// A number by which processes that run the same program tell whether their layouts are the same, without telling
    /// one another all of them. Those of two layouts that are not the same differ, but for a chance of one in 2^64.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Indices of each dimension.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How many ranks hold the array, those included that hold nothing.
    pub fn rank_count(&self) -> u64 {
        match &self.form {
            Form::Grid(grid) => grid.size(),
            Form::Boxes(boxes) => boxes.ranks() as u64,
        }
    }

    /// The number in the program of the layout's `place`th rank.
    pub fn rank(&self, place: u32) -> u32 {
        (self.ranks.as_ref()).map_or(place, |ranks| ranks[place as usize])
    }

    /// Which of the layout's ranks the one with this number is, if it is one.
    pub fn place(&self, rank: u32) -> Option<u32> {
        match &self.ranks {
            None => (u64::from(rank) < self.rank_count()).then_some(rank),
            Some(ranks) => {
                let place = ranks.iter().position(|&other| other == rank)?;
                Some(place as u32)
            }
        }
    }

    /// What the layout's `place`th rank holds, part by part.
    pub fn parts(&self, place: u32) -> Vec<Part> {
        match &self.form {
            Form::Grid(grid) => vec![grid.part(&self.shape, place)],
            Form::Boxes(boxes) => boxes.of(place).iter().map(Block::part).collect(),
        }
    }

    /// Elements that the layout's `place`th rank holds.
    pub fn held(&self, place: u32) -> u64 {
        self.parts(place).iter().map(|part| size(part)).sum()
    }

    /// How many ranks hold each element.
    pub fn replicas(&self) -> u64 {
        match &self.form {
            Form::Grid(grid) => grid.replicas(),
            Form::Boxes(_) => 1,
        }
    }

    /// The first element, in order of rows, that no rank holds: of a layout of [`Self::some_boxes`] alone there may be
    /// one.
    pub fn first_missing(&self) -> Option<Vec<u64>> {
        match &self.form {
            Form::Grid(_) => None,
            Form::Boxes(boxes) => boxes.first_missing(&self.shape),
        }
    }

    /// The grid that it goes over, if it is one.
    pub fn as_grid(&self) -> Option<&Grid> {
        match &self.form {
            Form::Grid(grid) => Some(grid),
            Form::Boxes(_) => None,
        }
    }

    pub(crate) fn as_boxes(&self) -> Option<&Boxes> {
        match &self.form {
            Form::Grid(_) => None,
            Form::Boxes(boxes) => Some(boxes),
        }
    }
}

/// Elements of a part.
pub fn size(part: &[Comb]) -> u64 {
    part.iter().map(Comb::size).product()
}

fn check_shape(shape: &[u64]) -> Result<(), LayoutError> {
    if shape.is_empty() || shape.len() > DIMS_MAX {
        return Err(LayoutError::Dimensions { given: shape.len() });
    }
    let mut elements = 1_u64;
    for &extent in shape {
        // An extent of 0 hides no other: products of some of the extents are bounded as well.
        let product = elements
            .checked_mul(extent.max(1))
            .filter(|&all| all < ELEMENTS_MAX);
        elements = product.ok_or(LayoutError::TooManyElements)?;
    }
    Ok(())
}
