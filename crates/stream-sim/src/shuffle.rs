//! What moves when the cells of a row make large blocks of small ones, by a plan of `redistribute`.

use crate::error::Error;
use crate::spec::{Machine, Work};
use isthmus_redistribute::transfer::{Order, Side, runs};
use isthmus_redistribute::{Dim, Grid, Layout, Plan};
use std::sync::Arc;

/// What one cell of a row sends to another for one TU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The column of the other.
    pub to: u32,
    /// How many bytes.
    pub bytes: u64,
    /// Of how many blocks, each of which is contiguous on both sides.
    pub blocks: u64,
}

/// For each column what its cell sends for one TU, the next cells to the right first, so that no
/// two send to the same at a time; what stays is not among it.
///
/// The TU is an array of bytes over the columns, from blocks that go round them to one block for
/// each, which is the I/O distribution (section 6.2.2).
///
/// # Errors
/// If there is no such layout.
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

fn blocks(plan: &Plan, from: u32, to: u32, held: u64) -> u64 {
    let extents = [held];
    let side = Side::Array(&extents, Order::C);
    let sections = plan.sections(from, to);
    let all = sections
        .iter()
        .flat_map(|section| runs(section, 1, side, side));
    all.map(|(_, count)| count).sum()
}
