//! Errors of the layouts of distributed arrays.

/// Reason why a layout is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayoutError {
    /// The array has no dimension, or more than [`super::DIMS_MAX`].
    #[error("an array of {given} dimensions: it has 1 to {}", super::DIMS_MAX)]
    Dimensions {
        /// The number of dimensions of the array.
        given: usize,
    },
    /// The array has [`super::ELEMENTS_MAX`] elements or more.
    #[error("an array has fewer than 2^62 elements")]
    TooManyElements,
    /// The process grid distributes another number of dimensions than the array has.
    #[error(
        "{given} dimensions are distributed, but the array has {wanted}: give one distribution for each"
    )]
    GridDimensions {
        /// Number of dimensions for which the grid has a distribution.
        given: usize,
        /// Number of dimensions of the array.
        wanted: usize,
    },
    /// An extent of the process grid is zero, or the grid has more than [`super::RANKS_MAX`]
    /// processes.
    #[error(
        "a process grid of {extents:?}: each extent is at least 1, and all together make at most {} ranks",
        super::RANKS_MAX
    )]
    GridSize {
        /// The number of processes along each axis of the grid.
        extents: Vec<u32>,
    },
    /// A dimension is distributed over an axis that the grid does not have.
    #[error(
        "dimension {dim} goes over axis {axis} of the process grid, which has {axes}: axes count from 0"
    )]
    NoAxis {
        /// Index of the dimension of the array, from 0.
        dim: usize,
        /// Index of the axis of the grid, from 0.
        axis: usize,
        /// Number of axes of the grid.
        axes: usize,
    },
    /// Two dimensions are distributed over the same axis.
    #[error(
        "dimensions {} and {} both go over axis {axis} of the process grid: each needs one of its own",
        .dims[0], .dims[1]
    )]
    AxisTwice {
        /// Index of the axis of the grid, from 0.
        axis: usize,
        /// The two dimensions of the array that are distributed over the same axis.
        dims: [usize; 2],
    },
    /// The size of blocks is 0.
    #[error("blocks of dimension {dim} have no indices: they have at least 1")]
    NoBlock {
        /// Index of the dimension of the array, from 0.
        dim: usize,
    },
    /// The product of block size and number of coordinates is too large.
    #[error(
        "blocks of {block} indices of dimension {dim} on {over} processes: a round over all has fewer than \
         2^63 indices"
    )]
    Round {
        /// Index of the dimension of the array, from 0.
        dim: usize,
        /// Number of indices of a block.
        block: u64,
        /// Number of coordinates of the axis of the grid.
        over: u32,
    },
    /// The coordinate that should have the first block is beyond the end of its axis.
    #[error(
        "the first block of dimension {dim} is at coordinate {first}, but the axis has {over}: coordinates \
         count from 0"
    )]
    Source {
        /// Index of the dimension of the array, from 0.
        dim: usize,
        /// The coordinate that should have the first block.
        first: u32,
        /// Number of coordinates of the axis of the grid.
        over: u32,
    },
    /// The cuts of a dimension are invalid: they do not ascend from 0 to the extent of the
    /// dimension, or their number is not one more than the number of coordinates of the axis.
    #[error("cuts of dimension {dim}: {problem}")]
    Cuts {
        /// Index of the dimension of the array, from 0.
        dim: usize,
        /// Description of the error.
        problem: String,
    },
    /// The list of numbers for the ranks does not have one number for each rank of the layout.
    #[error("{given} ranks are given, but the layout has {wanted}")]
    RankCount {
        /// Length of the list of numbers that the caller passed.
        given: u64,
        /// Number of ranks of the layout.
        wanted: u64,
    },
    /// Two ranks of the layout get the same number.
    #[error("rank {rank} is given twice")]
    RankTwice {
        /// The number that both ranks get.
        rank: u32,
    },
    /// The layout has boxes of no ranks, or of more than [`super::RANKS_MAX`].
    #[error("boxes of {given} ranks: there are 1 to {}", super::RANKS_MAX)]
    BoxRanks {
        /// The number of ranks for which the caller passed boxes.
        given: u64,
    },
    /// A box is invalid: it has another number of dimensions than the array, ends before it starts,
    /// or ends beyond the array.
    #[error("box {part} of rank {rank}: {problem}")]
    Box {
        /// The rank that has the box.
        rank: usize,
        /// Index of the box among the boxes of the rank.
        part: usize,
        /// Description of the error.
        problem: String,
    },
    /// Two boxes have a common element.
    #[error(
        "element {index:?} is held twice: by box {} of rank {} and by box {} of rank {}",
        .of[0].1, .of[0].0, .of[1].1, .of[1].0
    )]
    Overlap {
        /// The first element that both boxes have.
        index: Vec<u64>,
        /// For each of the two boxes: its rank, and its index among the boxes of the rank.
        of: [(usize, usize); 2],
    },
    /// An element is in no box.
    #[error("no rank holds element {index:?}")]
    Missing {
        /// The first element that is in no box.
        index: Vec<u64>,
    },
}
