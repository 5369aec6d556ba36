//! The data of the cells, and how small blocks become large ones.
//!
//! A TU is an array of bytes whose blocks go round the cells of a row. Each cell has its part of it
//! in one piece of memory. Of an ADU, row `r` has the TUs `r`, `r + rows`, ... — which row has a TU
//! makes no difference to what is sent, so TUs are numbered as in the ADU here. Cells that stream send
//! what they have, whatever it is: for these a block is all that a cell has.

use crate::error::Error;
use isthmus_redistribute::transfer::{Array, ArrayMut, redistribute};
use isthmus_redistribute::{Dim, Grid, Layout, Plan};
use isthmus_stream_sim::spec::{Machine, Reshuffle, Work};
use std::sync::Arc;

/// The byte of an ADU at this place. Neighbours differ, and so do blocks and TUs.
pub fn byte(at: u64) -> u8 {
    (at ^ (at >> 7) ^ (at >> 15)).wrapping_mul(167) as u8
}

/// What cells hold of one ADU.
#[derive(Debug, Clone)]
pub struct Cells {
    columns: usize,
    /// Bytes of a TU, of what a cell has of it, and of a block.
    tu: usize,
    share: usize,
    block: usize,
    /// TU by TU, in each cell by cell.
    held: Vec<u8>,
}

impl Cells {
    /// The cells of `machine` with an ADU of `work`, in blocks that go round.
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
                let from = cells.place(tu, block);
                for (offset, held) in cells.held[from..from + cells.block].iter_mut().enumerate() {
                    *held = byte((first + offset) as u64);
                }
            }
        }
        cells
    }

    /// All that they hold, TU by TU, in each cell by cell.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Where a block of a TU lies among what the cells hold.
    fn place(&self, tu: usize, block: usize) -> usize {
        tu * self.tu + block % self.columns * self.share + block / self.columns * self.block
    }

    /// One block of a TU.
    pub fn block(&self, tu: u64, block: u64) -> &[u8] {
        let from = self.place(tu as usize, block as usize);
        &self.held[from..from + self.block]
    }
}

/// How the cells of each row exchange blocks, so that each has one large one.
#[derive(Debug)]
pub struct Shuffle {
    plan: Plan,
}

impl Shuffle {
    /// The exchange for a TU.
    ///
    /// # Errors
    /// Sizes of which there is no layout.
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

    /// Carries it out for all TUs of an ADU, into `large`: cell by cell as well, and so in order.
    ///
    /// # Errors
    /// Memory of another size.
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
