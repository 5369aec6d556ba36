//! What can be wrong with a layout.

/// Why there is no such layout.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayoutError {
    /// No dimension, or more than [`super::DIMS_MAX`].
    #[error("an array of {given} dimensions: it has 1 to {}", super::DIMS_MAX)]
    Dimensions {
        /// How many.
        given: usize,
    },
    /// [`super::ELEMENTS_MAX`] elements or more.
    #[error("an array has fewer than 2^62 elements")]
    TooManyElements,
    /// The grid and the array differ in the number of dimensions.
    #[error(
        "{given} dimensions are distributed, but the array has {wanted}: give one distribution for each"
    )]
    GridDimensions {
        /// Those of the grid.
        given: usize,
        /// Those of the array.
        wanted: usize,
    },
    /// A process grid with an extent of zero, or of more than [`super::RANKS_MAX`] processes.
    #[error(
        "a process grid of {extents:?}: each extent is at least 1, and all together make at most {} ranks",
        super::RANKS_MAX
    )]
    GridSize {
        /// Its extents.
        extents: Vec<u32>,
    },
    /// A dimension goes over an axis that the grid lacks.
    #[error(
        "dimension {dim} goes over axis {axis} of the process grid, which has {axes}: axes count from 0"
    )]
    NoAxis {
        /// Of the array.
        dim: usize,
        /// Of the grid.
        axis: usize,
        /// How many there are.
        axes: usize,
    },
    /// Two dimensions go over one axis.
    #[error(
        "dimensions {} and {} both go over axis {axis} of the process grid: each needs one of its own",
        .dims[0], .dims[1]
    )]
    AxisTwice {
        /// Of the grid.
        axis: usize,
        /// Both.
        dims: [usize; 2],
    },
    /// Blocks of no indices.
    #[error("blocks of dimension {dim} have no indices: they have at least 1")]
    NoBlock {
        /// Which dimension.
        dim: usize,
    },
    /// Blocks so large that places in a round over all coordinates cannot be counted.
    #[error(
        "blocks of {block} indices of dimension {dim} on {over} processes: a round over all has fewer than \
         2^63 indices"
    )]
    Round {
        /// Which dimension.
        dim: usize,
        /// Indices of a block.
        block: u64,
        /// Coordinates of the axis.
        over: u32,
    },
    /// The first block is given to a coordinate beyond the axis.
    #[error(
        "the first block of dimension {dim} is at coordinate {first}, but the axis has {over}: coordinates \
         count from 0"
    )]
    Source {
        /// Which dimension.
        dim: usize,
        /// The coordinate.
        first: u32,
        /// Coordinates of the axis.
        over: u32,
    },
    /// Cuts that do not go from 0 to the extent of the dimension, one more than the axis has coordinates, never
    /// back.
    #[error("cuts of dimension {dim}: {problem}")]
    Cuts {
        /// Which dimension.
        dim: usize,
        /// What is wrong with them.
        problem: String,
    },
    /// There are not as many ranks as the layout has.
    #[error("{given} ranks are given, but the layout has {wanted}")]
    RankCount {
        /// How many were given.
        given: u64,
        /// How many it has.
        wanted: u64,
    },
    /// One rank in two places.
    #[error("rank {rank} is given twice")]
    RankTwice {
        /// Which.
        rank: u32,
    },
    /// Boxes of no ranks, or of more than [`super::RANKS_MAX`].
    #[error("boxes of {given} ranks: there are 1 to {}", super::RANKS_MAX)]
    BoxRanks {
        /// Of how many.
        given: u64,
    },
    /// A box has another number of dimensions than the array, ends before it begins, or beyond the array.
    #[error("box {part} of rank {rank}: {problem}")]
    Box {
        /// Of which rank.
        rank: usize,
        /// The how manieth of it.
        part: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// Two boxes hold one element.
    #[error(
        "element {index:?} is held twice: by box {} of rank {} and by box {} of rank {}",
        .of[0].1, .of[0].0, .of[1].1, .of[1].0
    )]
    Overlap {
        /// The first element that both hold.
        index: Vec<u64>,
        /// Rank and part of both.
        of: [(usize, usize); 2],
    },
    /// No box holds an element.
    #[error("no rank holds element {index:?}")]
    Missing {
        /// The first such element.
        index: Vec<u64>,
    },
}
