//! Layouts over a grid of processes. Each dimension is block-cyclic, in blocks, cut at given
//! indices, or whole.

use super::error::LayoutError;
use super::{Part, RANKS_MAX};
use crate::comb::Comb;
use std::sync::Arc;

/// Upper bound of the number of indices in one round of blocks: one block for each coordinate of an
/// axis.
const ROUND: u128 = 1 << 63;

/// Order in which the processes of a grid are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum GridOrder {
    /// The coordinate along the last axis counts fastest, as in C and MPI; the `R` of BLACS.
    #[default]
    RowMajor,
    /// The coordinate along the first axis counts fastest, as in Fortran; the `C` of BLACS.
    ColumnMajor,
}

/// Distribution of a dimension of an array over an axis of a process grid.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Spread {
    /// Blocks of `block` indices are dealt cyclically to the coordinates, starting with the coordinate
    /// `source`: `CYCLIC(block)` of High Performance Fortran; `MB`, `RSRC` of a ScaLAPACK descriptor.
    Cyclic {
        /// Number of indices of a block.
        block: u64,
        /// Coordinate that has the first block of the dimension.
        source: u32,
    },
    /// One block for each coordinate, as large as necessary: `BLOCK` of High Performance Fortran.
    Block,
    /// Coordinate `i` has the indices from `cuts[i]` to before `cuts[i + 1]`.
    Cuts(Arc<[u64]>),
}

/// Distribution of one dimension: the axis of the grid, and the method. `None`: every process has
/// the whole dimension.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Dim(pub Option<(usize, Spread)>);

impl Dim {
    /// Distribution in which each process has all indices of the dimension.
    pub const WHOLE: Self = Self(None);

    /// Return a distribution in which blocks of `block` indices are dealt cyclically to the coordinates of
    /// `axis`.
    pub fn cyclic(axis: usize, block: u64) -> Self {
        Self(Some((axis, Spread::Cyclic { block, source: 0 })))
    }

    /// Return a distribution with one block for each coordinate of `axis`.
    pub fn block(axis: usize) -> Self {
        Self(Some((axis, Spread::Block)))
    }
}

/// A grid of processes, and the distribution of each dimension of an array over its axes.
///
/// Processes that differ only along axes over which no dimension is distributed have the same
/// elements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    extents: Vec<u32>,
    order: GridOrder,
    dims: Vec<Dim>,
}

impl Grid {
    /// Create a grid with axes of these extents, numbered row by row, and with the distribution of each
    /// dimension of the array.
    pub fn new(extents: &[u32], dims: &[Dim]) -> Self {
        Self {
            extents: extents.to_vec(),
            order: GridOrder::RowMajor,
            dims: dims.to_vec(),
        }
    }

    /// Return the same grid with the processes numbered in this order.
    pub fn in_order(mut self, order: GridOrder) -> Self {
        self.order = order;
        self
    }

    /// Return the number of processes along each axis.
    pub fn extents(&self) -> &[u32] {
        &self.extents
    }

    /// Return the distribution of each dimension of the array.
    pub fn dims(&self) -> &[Dim] {
        &self.dims
    }

    /// Return the number of processes of the grid.
    pub(super) fn size(&self) -> u64 {
        self.extents
            .iter()
            .map(|&extent| u64::from(extent))
            .product()
    }

    /// Check that the grid and its distributions fit an array of this shape.
    pub(super) fn check(&self, shape: &[u64]) -> Result<(), LayoutError> {
        if self.dims.len() != shape.len() {
            return Err(LayoutError::GridDimensions {
                given: self.dims.len(),
                wanted: shape.len(),
            });
        }
        let mut size = Some(1_u64);
        for &extent in &self.extents {
            let product = size.and_then(|size| size.checked_mul(extent.into()));
            size = product.filter(|size| (1..=RANKS_MAX).contains(size));
        }
        if size.is_none() {
            return Err(LayoutError::GridSize {
                extents: self.extents.clone(),
            });
        }
        for (dim, (distribution, &extent)) in self.dims.iter().zip(shape).enumerate() {
            let Some((axis, spread)) = &distribution.0 else {
                continue;
            };
            let Some(&over) = self.extents.get(*axis) else {
                return Err(LayoutError::NoAxis {
                    dim,
                    axis: *axis,
                    axes: self.extents.len(),
                });
            };
            let goes_over = |other: &Dim| other.0.as_ref().is_some_and(|(other, _)| other == axis);
            if let Some(other) = self.dims[..dim].iter().position(goes_over) {
                return Err(LayoutError::AxisTwice {
                    axis: *axis,
                    dims: [other, dim],
                });
            }
            match spread {
                Spread::Cyclic { block: 0, .. } => return Err(LayoutError::NoBlock { dim }),
                &Spread::Cyclic { block, .. } if u128::from(block) * u128::from(over) >= ROUND => {
                    return Err(LayoutError::Round { dim, block, over });
                }
                &Spread::Cyclic { source, .. } if source >= over => {
                    return Err(LayoutError::Source {
                        dim,
                        first: source,
                        over,
                    });
                }
                Spread::Cuts(cuts) => {
                    let problem = cuts_problem(cuts, extent, over);
                    if let Some(problem) = problem {
                        return Err(LayoutError::Cuts { dim, problem });
                    }
                }
                Spread::Cyclic { .. } | Spread::Block => {}
            }
        }
        Ok(())
    }

    /// Return the part of the array that process `number` holds.
    pub(super) fn part(&self, shape: &[u64], number: u32) -> Part {
        let at = self.coordinates(number);
        let combs =
            (0..shape.len()).map(|dim| self.comb(shape, dim, self.coordinate_for(dim, &at)));
        combs.collect()
    }

    /// Return the array indices of dimension `dim` that processes at coordinate `at` of its axis
    /// hold; all indices if the dimension has no axis.
    pub(crate) fn comb(&self, shape: &[u64], dim: usize, at: u32) -> Comb {
        let extent = shape[dim];
        let Some((axis, spread)) = &self.dims[dim].0 else {
            return Comb::run(0, extent);
        };
        let over = u64::from(self.extents[*axis]);
        match spread {
            &Spread::Cyclic { block, source } => {
                let turn = (u64::from(at) + over - u64::from(source)) % over;
                Comb::cyclic(extent, block, over, turn)
            }
            Spread::Block => {
                let block = extent.div_ceil(over);
                let from = (u64::from(at) * block).min(extent);
                Comb::run(from, (from + block).min(extent))
            }
            Spread::Cuts(cuts) => Comb::run(cuts[at as usize], cuts[at as usize + 1]),
        }
    }

    /// Return the coordinate of a process along the axis of the grid over which dimension `dim` is
    /// distributed; 0 without such an axis. `at` are the coordinates of the process.
    pub(crate) fn coordinate_for(&self, dim: usize, at: &[u32]) -> u32 {
        (self.dims[dim].0.as_ref()).map_or(0, |(axis, _)| at[*axis])
    }

    /// Return the coordinates of process `number`.
    pub(crate) fn coordinates(&self, number: u32) -> Vec<u32> {
        let mut left = number;
        let mut at = vec![0; self.extents.len()];
        for axis in self.axes_from_fastest() {
            at[axis] = left % self.extents[axis];
            left /= self.extents[axis];
        }
        at
    }

    /// Return the number of the process with these coordinates.
    pub(crate) fn number(&self, at: &[u32]) -> u32 {
        let mut number = 0;
        let mut step = 1;
        for axis in self.axes_from_fastest() {
            number += at[axis] * step;
            step *= self.extents[axis];
        }
        number
    }

    /// Return the axes of the grid in the order in which process numbers count through them, the
    /// fastest first.
    fn axes_from_fastest(&self) -> Box<dyn Iterator<Item = usize>> {
        let axes = 0..self.extents.len();
        match self.order {
            GridOrder::RowMajor => Box::new(axes.rev()),
            GridOrder::ColumnMajor => Box::new(axes),
        }
    }

    /// Return the axes over which no dimension is distributed.
    pub(crate) fn free_axes(&self) -> Vec<usize> {
        let used = |axis: usize| {
            let mut dims = self.dims.iter().flat_map(|dim| &dim.0);
            dims.any(|(of, _)| *of == axis)
        };
        (0..self.extents.len())
            .filter(|&axis| !used(axis))
            .collect()
    }

    /// Return the number of processes that share each element: 1 without replication.
    pub(super) fn replicas(&self) -> u64 {
        let free = self.free_axes();
        free.iter()
            .map(|&axis| u64::from(self.extents[axis]))
            .product()
    }
}

/// Return the reason why the cuts of a dimension are invalid; `None` if they are valid.
fn cuts_problem(cuts: &[u64], extent: u64, over: u32) -> Option<String> {
    let wanted = over as usize + 1;
    if cuts.len() != wanted {
        return Some(format!(
            "there are {}, but {wanted} are needed for {over} coordinates",
            cuts.len()
        ));
    }
    if let Some(back) = cuts.windows(2).find(|pair| pair[1] < pair[0]) {
        return Some(format!("{} comes after {}", back[1], back[0]));
    }
    let (first, last) = (cuts[0], cuts[over as usize]);
    ((first, last) != (0, extent))
        .then(|| format!("they go from {first} to {last}, but the dimension from 0 to {extent}"))
}
