//! Errors of layouts.

/// Reason why a layout is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayoutError {
    /// No dimension, or more than [`super::DIMS_MAX`].
    #[error("an array of {given} dimensions: it has 1 to {}", super::DIMS_MAX)]
    Dimensions {
        /// The number of dimensions.
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
        /// Number of dimensions of the grid.
        given: usize,
        /// Number of dimensions of the array.
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
    /// A dimension is distributed over an axis that the grid does not have.
    #[error(
        "dimension {dim} goes over axis {axis} of the process grid, which has {axes}: axes count from 0"
    )]
    NoAxis {
        /// Dimension of the array.
        dim: usize,
        /// Axis of the grid.
        axis: usize,
        /// Number of axes.
        axes: usize,
    },
    /// Two dimensions are distributed over one axis.
    #[error(
        "dimensions {} and {} both go over axis {axis} of the process grid: each needs one of its own",
        .dims[0], .dims[1]
    )]
    AxisTwice {
        /// Axis of the grid.
        axis: usize,
        /// The two dimensions.
        dims: [usize; 2],
    },
    /// Blocks without indices.
    #[error("blocks of dimension {dim} have no indices: they have at least 1")]
    NoBlock {
        /// The dimension.
        dim: usize,
    },
    /// Blocks so large that positions in a round over all coordinates overflow.
    #[error(
        "blocks of {block} indices of dimension {dim} on {over} processes: a round over all has fewer than \
         2^63 indices"
    )]
    Round {
        /// The dimension.
        dim: usize,
        /// Number of indices of a block.
        block: u64,
        /// Number of coordinates of the axis.
        over: u32,
    },
    /// The first block is at a coordinate beyond the axis.
    #[error(
        "the first block of dimension {dim} is at coordinate {first}, but the axis has {over}: coordinates \
         count from 0"
    )]
    Source {
        /// The dimension.
        dim: usize,
        /// The coordinate.
        first: u32,
        /// Number of coordinates of the axis.
        over: u32,
    },
    /// Cuts that do not ascend from 0 to the extent of the dimension, or whose number is not one more than that
    /// of the coordinates of the axis.
    #[error("cuts of dimension {dim}: {problem}")]
    Cuts {
        /// The dimension.
        dim: usize,
        /// The problem.
        problem: String,
    },
    /// The number of ranks is not that of the layout.
    #[error("{given} ranks are given, but the layout has {wanted}")]
    RankCount {
        /// The given number.
        given: u64,
        /// The number of the layout.
        wanted: u64,
    },
    /// A rank is given twice.
    #[error("rank {rank} is given twice")]
    RankTwice {
        /// The rank.
        rank: u32,
    },
    /// Boxes of no ranks, or of more than [`super::RANKS_MAX`].
    #[error("boxes of {given} ranks: there are 1 to {}", super::RANKS_MAX)]
    BoxRanks {
        /// The number of ranks.
        given: u64,
    },
    /// A box has another number of dimensions than the array, ends before it starts, or ends beyond the array.
    #[error("box {part} of rank {rank}: {problem}")]
    Box {
        /// The rank.
        rank: usize,
        /// The index of the box at the rank.
        part: usize,
        /// The problem.
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
