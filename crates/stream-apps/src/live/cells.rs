//! The data of the cells, and the exchange that combines small blocks into large ones.
//!
//! A transfer unit (TU) is an array of bytes whose blocks are dealt cyclically to the cells of a
//! row. Each cell has its part of a TU in contiguous memory. Row `r` has the TUs `r`, `r + rows`, ...
//! of an application data unit (ADU). The row of a TU does not change the bytes that are sent, so
//! this module numbers TUs as in the ADU.
//! With streaming, a cell sends its part in any order, so a block is the whole part of a cell.

use crate::error::Error;
use isthmus_redistribute::transfer::{Array, ArrayMut, redistribute};
use isthmus_redistribute::{Dim, Grid, Layout, Plan};
use isthmus_stream_sim::spec::{Machine, Reshuffle, Work};
use std::sync::Arc;

/// Return the test byte at this position of an application data unit (ADU). Neighbouring bytes,
/// blocks and transfer units differ.
pub fn byte(at: u64) -> u8 {
    (at ^ (at >> 7) ^ (at >> 15)).wrapping_mul(167) as u8
}

/// The bytes of one application data unit, divided among the cells (processors) of the machine.
#[derive(Debug, Clone)]
pub struct Cells {
    columns: usize,
    /// Number of bytes of a transfer unit. `share` is that of a cell's part of it, `block` of a block.
    tu: usize,
    share: usize,
    block: usize,
    /// The data, transfer unit by transfer unit, and within a transfer unit cell by cell.
    held: Vec<u8>,
}

impl Cells {
    /// Create the cells of `machine` with the data of an application data unit of `work`.
    pub fn new(machine: &Machine, work: &Work) -> Self {
        let mut cells = Self {
            columns: machine.columns as usize,
            tu: work.tu_bytes as usize,
            share: work.share_bytes(machine) as usize,
            block: match work.reshuffle {
                Reshuffle::Streaming => work.share_bytes(machine) as usize,
                _ => work.block_bytes as usize,
            },
            held: vec![0; work.adu_bytes as usize],
        };
        for tu in 0..work.tus() as usize {
            for block in 0..cells.tu / cells.block {
                let first = tu * cells.tu + block * cells.block;
                let from = cells.block_start(tu, block);
                for (offset, held) in cells.held[from..from + cells.block].iter_mut().enumerate() {
                    *held = byte((first + offset) as u64);
                }
            }
        }
        cells
    }

    /// Return the data of all cells, transfer unit by transfer unit, and within a transfer unit
    /// cell by cell.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Return the index in `held` at which a block of a transfer unit starts.
    fn block_start(&self, tu: usize, block: usize) -> usize {
        tu * self.tu + block % self.columns * self.share + block / self.columns * self.block
    }

    /// Return the bytes of one block of a transfer unit.
    pub fn block(&self, tu: u64, block: u64) -> &[u8] {
        let from = self.block_start(tu as usize, block as usize);
        &self.held[from..from + self.block]
    }
}

/// Exchange of blocks among the cells of each row, after which each cell has one large block.
#[derive(Debug)]
pub struct Shuffle {
    plan: Plan,
}

impl Shuffle {
    /// Create the exchange of blocks among the cells, for each transfer unit of `work`.
    ///
    /// # Errors
    /// No layout exists for the sizes in `work`.
    pub fn new(machine: &Machine, work: &Work) -> Result<Self, Error> {
        let layout = |block: u64| {
            let grid = Grid::new(&[machine.columns], &[Dim::cyclic(0, block)]);
            let layout = Layout::grid(&[work.tu_bytes], grid).map(Arc::new);
            layout.map_err(|error| Error::Spec(error.to_string()))
        };
        let (from, to) = (
            layout(work.block_bytes)?,
            layout(work.share_bytes(machine))?,
        );
        let plan = Plan::new(from, to).map_err(|error| Error::Spec(error.to_string()))?;
        Ok(Self { plan })
    }

    /// Exchange the blocks of all transfer units of an application data unit (ADU) among the cells. In the result,
    /// `large`, the cells follow one another, so that its bytes are in the order of the ADU.
    pub fn run(&self, cells: &Cells, large: &mut [u8]) -> Result<(), Error> {
        let rows = cells.held.chunks(cells.tu).zip(large.chunks_mut(cells.tu));
        for (from, to) in rows {
            let part = |bytes| {
                vec![Array {
                    bytes,
                    strides: vec![1],
                }]
            };
            let from: Vec<_> = from.chunks(cells.share).map(part).collect();
            let part = |bytes| {
                vec![ArrayMut {
                    bytes,
                    strides: vec![1],
                }]
            };
            let mut to: Vec<_> = to.chunks_mut(cells.share).map(part).collect();
            let moved = redistribute(&self.plan, 1, &from, &mut to, 1);
            moved.map_err(|error| Error::Spec(error.to_string()))?;
        }
        Ok(())
    }
}
