//! The I/O distribution: the layout from which a network interface reads an array in large blocks,
//! over all of its links.
//!
//! The processors of a row combine their elements into a transfer unit (TU); each processor has one
//! block of it. The columns of processors share the links to the interface. The part of a transfer
//! unit that crosses one link is a striping unit (SU): the blocks of neighbouring columns.
//! (Steenkiste, "A High-Speed Network Interface for Distributed-Memory Systems", section 6.2.2 and
//! Figure 13: on 8 x 8 processors each of four links belongs to a pair of columns, and a TU of 64
//! KB has eight blocks of 8 KB; units as in section 5.2.)

use crate::layout::{Dim, Grid, Layout, LayoutError};
use std::sync::Arc;

/// A grid of processors in rows and columns, its links to a network interface, and the size of transfer units (as in
/// Figure 13 of the paper).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IoGrid {
    /// Number of rows of processors. Each row holds whole transfer units.
    pub rows: u32,
    /// Number of processors of a row. Each holds one block of a transfer unit.
    pub columns: u32,
    /// Number of links to the interface, among which the columns are divided.
    pub links: u32,
    /// Maximum size of a transfer unit in bytes.
    pub tu: u64,
    /// Size of an element in bytes.
    pub element: u64,
}

/// Reason why an I/O distribution is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IoDistributionError {
    /// The columns of processors cannot be divided evenly among the links.
    #[error("links: {links}; each has as many of the {columns} columns as the others")]
    Links {
        /// Number of links to the interface.
        links: u32,
        /// Number of columns of processors.
        columns: u32,
    },
    /// The size of transfer units or of elements is 0.
    #[error("{what}: 0; it is a number of bytes, at least 1")]
    NoBytes {
        /// Name of the size that is 0: `tu` or `element`.
        what: &'static str,
    },
    /// A transfer unit is too small for an element of each column.
    #[error(
        "tu: {tu} bytes have {} for each of {columns} columns; an element has {element}",
        .tu / u64::from(*.columns)
    )]
    Room {
        /// Size of a transfer unit in bytes.
        tu: u64,
        /// Number of columns of processors.
        columns: u32,
        /// Size of an element in bytes.
        element: u64,
    },
    /// A dimension of the array has no indices, so the array has no elements.
    #[error("dimension {dim} has no indices: it has at least 1")]
    NoIndices {
        /// Number of the dimension of the array.
        dim: usize,
    },
    /// The layout of the distribution is invalid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// A block of a transfer unit: elements that are consecutive in the array and in the memory of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitBlock {
    /// The rank that holds the block, by its index in the layout.
    pub rank_index: u32,
    /// Number of elements of the block.
    pub elements: u64,
}

/// A transfer unit: consecutive blocks of the array, which cross to the interface as one unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferUnit {
    /// Number of the transfer unit in the order of the array, row by row.
    pub number: u64,
    /// Position of the first element of the unit in the array, row by row.
    pub start: u64,
    /// Blocks of the unit in order, at least one.
    pub blocks: Vec<UnitBlock>,
}

/// An I/O distribution: the layout of an array from which an interface reads transfer units.
///
/// The layout is block-cyclic, so that a [`crate::Plan`] can lead to it from any other layout. The
/// time of every query about a unit does not depend on the number of units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoDistribution {
    layout: Arc<Layout>,
    grid: IoGrid,
    dim: usize,
    block: u64,
}

impl IoDistribution {
    /// Create the distribution of an array for an interface. The interface sends the array row by
    /// row. Ranks are numbered along the rows of processors.
    ///
    /// # Errors
    /// Columns cannot be divided among the links, a block has no element, or the array or the grid of
    /// processors is invalid.
    pub fn new(shape: &[u64], grid: IoGrid) -> Result<Self, IoDistributionError> {
        let IoGrid {
            rows,
            columns,
            links,
            tu,
            element,
        } = grid;
        // Refuse also a grid without columns: no number of links is valid for it.
        if links == 0 || links > columns || columns % links != 0 {
            return Err(IoDistributionError::Links { links, columns });
        }
        for (what, bytes) in [("tu", tu), ("element", element)] {
            if bytes == 0 {
                return Err(IoDistributionError::NoBytes { what });
            }
        }
        let room = tu / u64::from(columns);
        if room < element {
            return Err(IoDistributionError::Room {
                tu,
                columns,
                element,
            });
        }
        // Choose the dimension `dim` along which the array is cut into blocks: the first one for which the elements at
        // a single index fit into a block.
        let whole = Layout::whole(shape)?;
        if let Some(dim) = shape.iter().position(|&extent| extent == 0) {
            return Err(IoDistributionError::NoIndices { dim });
        }
        let slab = |dim: usize| u128::from(element) * u128::from(size(&whole.shape()[dim + 1..]));
        let dim = (0..shape.len()).find(|&dim| slab(dim) <= u128::from(room));
        let dim = dim.expect("an element has room");
        let block = u128::from(room) / slab(dim);
        let block = u64::try_from(block).expect("no more than the room");
        let mut dims = vec![Dim::WHOLE; shape.len()];
        let extents = if dim == 0 {
            // Deal units cyclically to the rows of processors, since a block has whole rows of the
            // array.
            dims[0] = Dim::cyclic(0, block);
            let all = rows.checked_mul(columns);
            all.map_or_else(|| vec![rows, columns], |all| vec![all])
        } else {
            (dims[0], dims[dim]) = (Dim::block(0), Dim::cyclic(1, block));
            vec![rows, columns]
        };
        let layout = Layout::grid(shape, Grid::new(&extents, &dims))?;
        Ok(Self {
            layout: Arc::new(layout),
            grid,
            dim,
            block,
        })
    }

    /// Return the same distribution with other numbers for its ranks, as [`Layout::on_ranks`] does.
    ///
    /// # Errors
    /// The number of ranks is not the number of processors, or two ranks are the same.
    pub fn on_ranks(self, ranks: &[u32]) -> Result<Self, LayoutError> {
        let layout = Layout::clone(&self.layout).on_ranks(ranks)?;
        Ok(Self {
            layout: Arc::new(layout),
            ..self
        })
    }

    /// Return the layout of the distribution.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Return the dimension along which the array is cut into blocks. Each block has all indices of
    /// the later dimensions.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Return the size of a block, in indices of the array dimension that is cut into blocks.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Return the number of the link over which rank `index` sends. Each link serves the same number of neighbouring
    /// columns.
    pub fn link(&self, index: u32) -> u32 {
        let IoGrid { columns, links, .. } = self.grid;
        // Give each link the same number of neighbouring columns.
        index % columns / (columns / links)
    }

    /// Return the number of transfer units of the array.
    pub fn unit_count(&self) -> u64 {
        let shape = self.layout.shape();
        size(&shape[..self.dim]) * self.units_per_line()
    }

    /// Return a transfer unit by its number in the order of the array; `None` if there is no such
    /// unit. The last unit of a row of the array is shorter if the row is not a multiple of a unit.
    pub fn unit(&self, number: u64) -> Option<TransferUnit> {
        if number >= self.unit_count() {
            return None;
        }
        let IoGrid { rows, columns, .. } = self.grid;
        let (shape, dim) = (self.layout.shape(), self.dim);
        let slab = size(&shape[dim + 1..]);
        // A line is a row of elements along the dimension that is cut into blocks. Compute the number of the unit's
        // line, and the number of the unit within this line.
        let (line, turn) = (
            number / self.units_per_line(),
            number % self.units_per_line(),
        );
        let first = turn * self.indices_per_unit();
        // Find the row of processors that holds the transfer unit.
        let row = if dim == 0 {
            turn % u64::from(rows)
        } else {
            line / (shape[0].div_ceil(rows.into()) * size(&shape[1..dim]))
        };
        let mut blocks = Vec::new();
        for column in 0..columns {
            let begin = first + u64::from(column) * self.block;
            if begin >= shape[dim] {
                break;
            }
            blocks.push(UnitBlock {
                rank_index: row as u32 * columns + column,
                elements: self.block.min(shape[dim] - begin) * slab,
            });
        }
        Some(TransferUnit {
            number,
            start: (line * shape[dim] + first) * slab,
            blocks,
        })
    }

    /// Return the number of transfer units along the dimension in which the array is cut into
    /// blocks.
    fn units_per_line(&self) -> u64 {
        self.layout.shape()[self.dim].div_ceil(self.indices_per_unit())
    }

    /// Return the number of indices that a transfer unit has in the dimension along which blocks
    /// are cut. It is at most the number of bytes of a unit.
    fn indices_per_unit(&self) -> u64 {
        self.block * u64::from(self.grid.columns)
    }
}

/// Return the number of elements of an array with these extents.
fn size(extents: &[u64]) -> u64 {
    extents.iter().product()
}
