//! The I/O distribution: from which a network interface takes an array in large blocks, over all of its links.
//!
//! The processors of a row combine what they hold into a transfer unit (TU), each one block of it; the columns of
//! processors share the links to the interface. What of a transfer unit crosses one link is a striping unit (SU), the
//! blocks of neighbouring columns. (Steenkiste, "A High-Speed Network Interface for Distributed-Memory Systems",
//! section 6.2.2 and Figure 13: on 8 x 8 processors each of four links is a column pair's, and a TU of 64 KB has
//! eight blocks of 8 KB; units as in section 5.2.)

use crate::layout::{Dim, Grid, Layout, LayoutError};
use std::sync::Arc;

/// Processors in rows, and their links to an interface, as in Figure 13; and how much crosses at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IoGrid {
    /// Rows of processors: each has whole transfer units.
    pub rows: u32,
    /// Processors of a row: each has a block of a transfer unit.
    pub columns: u32,
    /// Links to the interface, among which the columns are divided.
    pub links: u32,
    /// Bytes of a transfer unit, at most.
    pub tu: u64,
    /// Bytes of an element.
    pub element: u64,
}

/// Why there is no such distribution.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IoDistributionError {
    /// The columns cannot be divided among so many links.
    #[error("links: {links}; each has as many of the {columns} columns as the others")]
    Links {
        /// How many.
        links: u32,
        /// Of how many columns.
        columns: u32,
    },
    /// Transfer units, or elements, of no bytes.
    #[error("{what}: 0; it is a number of bytes, at least 1")]
    NoBytes {
        /// `tu` or `element`.
        what: &'static str,
    },
    /// A transfer unit has not an element for each column.
    #[error(
        "tu: {tu} bytes have {} for each of {columns} columns; an element has {element}",
        .tu / u64::from(*.columns)
    )]
    Room {
        /// Bytes of a transfer unit.
        tu: u64,
        /// How many columns.
        columns: u32,
        /// Bytes of an element.
        element: u64,
    },
    /// A dimension of no indices: there is nothing to transfer.
    #[error("dimension {dim} has no indices: it has at least 1")]
    NoIndices {
        /// Which.
        dim: usize,
    },
    /// There is no such layout.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// A block of a transfer unit: elements that follow one another in the array and in the memory of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitBlock {
    /// Place in the layout of the rank that has it.
    pub place: u32,
    /// How many elements.
    pub elements: u64,
}

/// What crosses to the interface as one: blocks that follow one another in the array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferUnit {
    /// Which in the order of the array, row by row.
    pub number: u64,
    /// Place of its first element in the array, row by row.
    pub start: u64,
    /// In order; never none.
    pub blocks: Vec<UnitBlock>,
}

/// A layout from which transfer units are taken.
///
/// Block-cyclic, so that a [`crate::Plan`] leads to it from any other. Whatever is asked of a unit is answered in a
/// time that does not depend on how many there are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IoDistribution {
    layout: Arc<Layout>,
    grid: IoGrid,
    dim: usize,
    block: u64,
}

impl IoDistribution {
    /// Spreads an array, which is sent row by row, for an interface. Ranks are numbered row by row of processors.
    ///
    /// # Errors
    ///
    /// If columns cannot be divided among the links, a block has no element, or there is no such array or grid of
    /// processors.
    pub fn new(shape: &[u64], grid: IoGrid) -> Result<Self, IoDistributionError> {
        let IoGrid {
            rows,
            columns,
            links,
            tu,
            element,
        } = grid;
        // Of no columns there is no divisor either.
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
        // What an index of each dimension stands for is smaller from dimension to dimension.
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
            // Whole rows of the array are in a block: units go round the rows of processors.
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

    /// The same with other numbers for its ranks, as [`Layout::on_ranks`].
    ///
    /// # Errors
    ///
    /// If there are not as many as processors, or two are the same.
    pub fn on_ranks(self, ranks: &[u32]) -> Result<Self, LayoutError> {
        let layout = Layout::clone(&self.layout).on_ranks(ranks)?;
        Ok(Self {
            layout: Arc::new(layout),
            ..self
        })
    }

    /// Who holds what.
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The dimension along which blocks lie; those behind it are whole in each block.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Indices of that dimension in a block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Over which link the rank at this place of the layout sends: neighbouring columns share one.
    pub fn link(&self, place: u32) -> u32 {
        let IoGrid { columns, links, .. } = self.grid;
        // As many columns for each link.
        place % columns / (columns / links)
    }

    /// How many transfer units the array is.
    pub fn unit_count(&self) -> u64 {
        let shape = self.layout.shape();
        size(&shape[..self.dim]) * self.units_of_row()
    }

    /// A transfer unit by its number in the order of the array, if there is one; the last of a row of the array is
    /// shorter where the row is no multiple of them.
    pub fn unit(&self, number: u64) -> Option<TransferUnit> {
        if number >= self.unit_count() {
            return None;
        }
        let IoGrid { rows, columns, .. } = self.grid;
        let (shape, dim) = (self.layout.shape(), self.dim);
        let slab = size(&shape[dim + 1..]);
        // The how manieth row along the dimension of blocks, and which of its units.
        let (line, turn) = (number / self.units_of_row(), number % self.units_of_row());
        let first = turn * self.round();
        // The row of processors that has it.
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
                place: row as u32 * columns + column,
                elements: self.block.min(shape[dim] - begin) * slab,
            });
        }
        Some(TransferUnit {
            number,
            start: (line * shape[dim] + first) * slab,
            blocks,
        })
    }

    /// Transfer units along the dimension of blocks.
    fn units_of_row(&self) -> u64 {
        self.layout.shape()[self.dim].div_ceil(self.round())
    }

    /// Indices of that dimension in a transfer unit: no more than it has bytes.
    fn round(&self) -> u64 {
        self.block * u64::from(self.grid.columns)
    }
}

fn size(extents: &[u64]) -> u64 {
    extents.iter().product()
}
