//! Messages between the cells of a row, by which small blocks are combined into large ones. The
//! crate `redistribute` plans them.

use crate::error::Error;
use crate::spec::{Machine, Work};
use isthmus_redistribute::transfer::{Order, Side, runs};
use isthmus_redistribute::{Dim, Grid, Layout, Plan};
use std::sync::Arc;

/// A message from one cell of a row to another cell, with blocks of one transfer unit (TU).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Column of the cell to which the message is sent.
    pub to: u32,
    /// Number of bytes in the message.
    pub bytes: u64,
    /// Number of blocks in the message. Each block is contiguous at the sender and at the receiver.
    pub blocks: u64,
}

/// Return, for each column, the messages that its cell sends for one transfer unit. Messages to the
/// next cells to the right come first, so that no two cells send to the same cell at a time. Data
/// that stay in a cell need no message.
///
/// The transfer unit is an array of bytes over the columns. Its layout changes from blocks that are
/// dealt cyclically to the columns, to one block for each column, which is the I/O distribution
/// (section 6.2.2).
///
/// # Errors
/// A size for which no such layout exists.
pub fn messages(machine: &Machine, work: &Work) -> Result<Vec<Vec<Message>>, Error> {
    let columns = machine.columns;
    let layout = |block: u64| -> Result<Arc<Layout>, Error> {
        let grid = Grid::new(&[columns], &[Dim::cyclic(0, block)]);
        let layout = Layout::grid(&[work.tu_bytes], grid);
        let wrong = |error: isthmus_redistribute::LayoutError| {
            Error::new("workload.block", error.to_string(), "give another size")
        };
        layout.map(Arc::new).map_err(wrong)
    };
    let (from, to) = (
        layout(work.block_bytes)?,
        layout(work.share_bytes(machine))?,
    );
    let plan = Plan::new(from, to)
        .map_err(|error| Error::new("workload.tu", error.to_string(), "give another size"))?;
    let all = (0..columns).map(|from| {
        let mut sends: Vec<Message> = plan
            .sends(from)
            .into_iter()
            .filter(|message| message.peer != from && message.elements > 0)
            .map(|message| Message {
                to: message.peer,
                bytes: message.elements,
                blocks: blocks(&plan, from, message.peer, work.share_bytes(machine)),
            })
            .collect();
        sends.sort_by_key(|message| (message.to + columns - from) % columns);
        sends
    });
    Ok(all.collect())
}

/// Return the number of blocks, contiguous in the memory of both cells, of the message from one
/// column to another. `held` is the number of bytes of a transfer unit in each cell.
fn blocks(plan: &Plan, from: u32, to: u32, held: u64) -> u64 {
    let extents = [held];
    let side = Side::Array(&extents, Order::C);
    let sections = plan.sections(from, to);
    let all = sections
        .iter()
        .flat_map(|section| runs(section, 1, side, side));
    all.map(|(_, count)| count).sum()
}
