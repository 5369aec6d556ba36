//! Redistribution of arrays if the parts of all ranks are in the memory of one process, whose
//! threads copy them.

use super::array::ArrayName;
use super::tiles::{Walks, fill};
use super::walk::Walk;
use super::{Array, ArrayMut, TransferError};
use crate::comb::Comb;
use crate::layout::Layout;
use crate::plan::Plan;

/// Copy an array of the source layout of a plan into an array of the destination layout. `from[i]`
/// are the parts of rank `i` of the source layout, `to[i]` those of the destination layout.
/// Elements have `element` bytes. The result is the same for any number of threads: no two of them
/// write to the same bytes.
///
/// # Errors
/// The arrays do not fit their layouts (then nothing is copied), or threads cannot be started.
pub fn redistribute(
    plan: &Plan,
    element: u64,
    from: &[Vec<Array<'_>>],
    to: &mut [Vec<ArrayMut<'_>>],
    threads: usize,
) -> Result<(), TransferError> {
    if element == 0 {
        return Err(TransferError::NoElement);
    }
    check(
        "from",
        plan.from(),
        from.iter().map(|parts| parts.iter()),
        |name, part, array| name.check(part, (array.bytes.len(), &array.strides), element),
    )?;
    check(
        "to",
        plan.to(),
        to.iter_mut().map(|parts| parts.iter_mut()),
        |name, part, array| {
            name.check(part, (array.bytes.len(), &array.strides), element)?;
            name.check_disjoint(part, &mut array.strides, element)
        },
    )?;
    let mut fillings = Vec::new();
    for (rank, arrays) in to.iter_mut().enumerate() {
        let walks = walks(plan, rank as u32, element, from, arrays);
        fillings.extend(arrays.iter_mut().zip(walks));
    }
    fill(fillings, element, threads)
}

/// Return, for each part of a destination rank, the copies that fill it: the runs to copy (a
/// `Walk`), and the bytes of their source.
fn walks<'a>(
    plan: &Plan,
    rank: u32,
    element: u64,
    from: &[Vec<Array<'a>>],
    to: &[ArrayMut<'_>],
) -> Vec<Walks<'a>> {
    let mut walks: Vec<Walks<'a>> = to.iter().map(|_| Vec::new()).collect();
    for message in plan.receives(rank) {
        for section in plan.sections(message.peer, rank) {
            let source = &from[message.peer as usize][section.from_part];
            let strides = &to[section.to_part].strides;
            let walk = Walk::new(&section.dims, element, &source.strides, strides);
            walks[section.to_part].push((walk, source.bytes));
        }
    }
    walks
}

/// Check the number of ranks and parts on one side, and call `fits` with each part and its array.
fn check<A>(
    side: &'static str,
    layout: &Layout,
    ranks: impl ExactSizeIterator<Item = impl ExactSizeIterator<Item = A>>,
    fits: impl Fn(ArrayName, &[Comb], A) -> Result<(), TransferError>,
) -> Result<(), TransferError> {
    if ranks.len() as u64 != layout.rank_count() {
        return Err(TransferError::Ranks {
            side,
            given: ranks.len(),
            wanted: layout.rank_count(),
        });
    }
    for (rank, arrays) in ranks.enumerate() {
        let rank = rank as u32;
        let parts = layout.parts(rank);
        if arrays.len() != parts.len() {
            return Err(TransferError::Parts {
                side,
                rank,
                given: arrays.len(),
                wanted: parts.len(),
            });
        }
        for (part, (comb, array)) in parts.iter().zip(arrays).enumerate() {
            fits(ArrayName::new(side, part).with_rank(rank), comb, array)?;
        }
    }
    Ok(())
}
