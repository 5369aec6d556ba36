//! Plans from one layout to another: the elements that each rank sends to each other rank. Each
//! rank computes its part of the plan alone.

use crate::comb::Comb;
use crate::family::{Family, shared, shared_size};
use crate::layout::{self, Grid, Layout};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reason why there is no plan between two layouts.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// The arrays of the two layouts have different shapes.
    #[error(
        "data come from an array of shape {from:?} and go to one of shape {to:?}: both must be the same"
    )]
    Shapes {
        /// Shape of the array of the source layout.
        from: Vec<u64>,
        /// Shape of the array of the destination layout.
        to: Vec<u64>,
    },
}

/// A message of a plan, from the view of one rank: the other rank, and the size of the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Index of the other rank (receiver or sender) in its layout.
    pub peer: u32,
    /// Number of elements in the message.
    pub elements: u64,
}

/// The elements that go from one part of a rank to one part of another rank. They are the product
/// of the indices of all dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Index of the part at the source rank.
    pub from_part: usize,
    /// Index of the part at the destination rank.
    pub to_part: usize,
    /// For each dimension, the indices of the elements as families of evenly spaced runs.
    pub dims: Vec<Vec<Family>>,
}

impl Section {
    /// Return the number of elements of the section.
    pub fn size(&self) -> u64 {
        let along = |families: &Vec<Family>| -> u64 { families.iter().map(Family::size).sum() };
        self.dims.iter().map(along).product()
    }
}

/// A plan to redistribute an array from one layout to another.
///
/// Ranks are identified by their index in their layout; [`Layout::rank`] returns their number in
/// the program. A plan stores no lists: any rank computes each result alone from both layouts. The
/// time depends on the numbers of ranks and on the relative position of the blocks of both layouts,
/// not on the number of elements.
#[derive(Clone, Debug)]
pub struct Plan {
    from: Arc<Layout>,
    to: Arc<Layout>,
}

impl Plan {
    /// Create the plan from one layout to another.
    ///
    /// # Errors
    /// The arrays of the layouts have different shapes.
    pub fn new(from: Arc<Layout>, to: Arc<Layout>) -> Result<Self, PlanError> {
        if from.shape() != to.shape() {
            return Err(PlanError::Shapes {
                from: from.shape().to_vec(),
                to: to.shape().to_vec(),
            });
        }
        Ok(Self { from, to })
    }

    /// Return the source layout, from which the elements are sent.
    pub fn from(&self) -> &Arc<Layout> {
        &self.from
    }

    /// Return the destination layout, in which the elements are received.
    pub fn to(&self) -> &Arc<Layout> {
        &self.to
    }

    /// Return the messages that rank `from` of the source layout sends, in the order of the
    /// receivers' indices. They include the elements that stay on the same rank.
    pub fn sends(&self, from: u32) -> Vec<Message> {
        let own_parts = self.from.parts(from);
        let found = overlaps(&own_parts, &self.to);
        let given = found
            .into_iter()
            .filter(|message| self.is_sender(from, message.peer));
        given.collect()
    }

    /// Return the messages that rank `to` of the destination layout receives, in the order of the
    /// senders' indices.
    pub fn receives(&self, to: u32) -> Vec<Message> {
        let own_parts = self.to.parts(to);
        let found = overlaps(&own_parts, &self.from);
        found
            .into_iter()
            .filter(|message| self.is_sender(message.peer, to))
            .collect()
    }

    /// Return the elements that go from rank `from` of the source layout to rank `to` of the
    /// destination layout.
    pub fn sections(&self, from: u32, to: u32) -> Vec<Section> {
        if !self.is_sender(from, to) {
            return Vec::new();
        }
        let (from_parts, to_parts) = (self.from.parts(from), self.to.parts(to));
        let mut sections = Vec::new();
        for (from_part, own_part) in from_parts.iter().enumerate() {
            for (to_part, peer_part) in to_parts.iter().enumerate() {
                sections.extend(section(own_part, peer_part).map(|dims| Section {
                    from_part,
                    to_part,
                    dims,
                }));
            }
        }
        sections
    }

    /// Return whether rank `from` sends its elements to rank `to`, if several ranks have the same
    /// elements. If the receiver is one of these ranks, it sends to itself. Otherwise the senders
    /// take turns over the receivers.
    fn is_sender(&self, from: u32, to: u32) -> bool {
        let Some(grid) = self.from.as_grid().filter(|_| self.from.replicas() > 1) else {
            return true;
        };
        let at = grid.coordinates(from);
        let free = grid.free_axes();
        let itself = self
            .from
            .index_of(self.to.rank(to))
            .map(|index| grid.coordinates(index));
        let holds_same = |other: &Vec<u32>| {
            let mut axes = 0..at.len();
            axes.all(|axis| free.contains(&axis) || at[axis] == other[axis])
        };
        if let Some(itself) = itself.filter(holds_same) {
            return itself == at;
        }
        let mut turn = u64::from(to) % self.from.replicas();
        free.iter().all(|&axis| {
            let extent = u64::from(grid.extents()[axis]);
            let wanted = turn % extent;
            turn /= extent;
            u64::from(at[axis]) == wanted
        })
    }
}

/// Return, for each dimension, the indices that are in both parts; `None` if the parts have no
/// common element.
fn section(from: &[Comb], to: &[Comb]) -> Option<Vec<Vec<Family>>> {
    let mut dims = Vec::with_capacity(from.len());
    for (from, to) in from.iter().zip(to) {
        let families = shared(from, to);
        if families.is_empty() {
            return None;
        }
        dims.push(families);
    }
    Some(dims)
}

/// Return the ranks of a layout that have elements of these parts, each with the number of these
/// elements.
fn overlaps(parts: &[Vec<Comb>], layout: &Layout) -> Vec<Message> {
    let mut found: BTreeMap<u32, u64> = BTreeMap::new();
    for part in parts.iter().filter(|part| layout::size(part) > 0) {
        if let Some(grid) = layout.as_grid() {
            let overlaps = grid_overlaps(part, grid, layout.shape());
            if parts.len() == 1 {
                return overlaps;
            }
            for message in overlaps {
                *found.entry(message.peer).or_default() += message.elements;
            }
        } else if let Some(boxes) = layout.as_boxes() {
            for (rank, blocks) in boxes.all().enumerate() {
                let sizes = blocks.iter().map(|block| {
                    let dims = part.iter().zip(block.from.iter().zip(&block.to));
                    dims.map(|(comb, (&from, &to))| shared_size(comb, &Comb::run(from, to)))
                        .product::<u64>()
                });
                let elements: u64 = sizes.sum();
                if elements > 0 {
                    *found.entry(rank as u32).or_default() += elements;
                }
            }
        }
    }
    let messages = found.into_iter();
    messages
        .map(|(peer, elements)| Message { peer, elements })
        .collect()
}

/// Return the processes of a grid that have elements of a part, each with the number of these
/// elements.
fn grid_overlaps(part: &[Comb], grid: &Grid, shape: &[u64]) -> Vec<Message> {
    // Find, for each axis of the grid, the coordinates that have some indices of the part, and the
    // number of these indices. A dimension that is whole at all processes contributes a factor.
    let mut factor = 1;
    let extents = grid.extents();
    let mut axes: Vec<Vec<(u32, u64)>> = extents
        .iter()
        .map(|&extent| (0..extent).map(|at| (at, 1)).collect())
        .collect();
    for (dim, comb) in part.iter().enumerate() {
        let held = |at: u32| shared_size(comb, &grid.comb(shape, dim, at));
        match &grid.dims()[dim].0 {
            None => factor *= held(0),
            Some((axis, _)) => {
                let all = (0..extents[*axis]).map(|at| (at, held(at)));
                axes[*axis] = all.filter(|&(_, held)| held > 0).collect();
            }
        }
    }
    let mut at = vec![0; extents.len()];
    let mut messages = Vec::with_capacity(axes.iter().map(Vec::len).product());
    product(&axes, 0, factor, &mut at, &mut |at, elements| {
        let peer = grid.number(at);
        messages.push(Message { peer, elements });
    });
    messages.sort_unstable_by_key(|message| message.peer);
    messages
}

/// Combine the coordinates of all axes from `axis` on: call `emit` with each combination and its
/// number of elements.
fn product(
    axes: &[Vec<(u32, u64)>],
    axis: usize,
    elements: u64,
    at: &mut [u32],
    emit: &mut impl FnMut(&[u32], u64),
) {
    let Some(coordinates) = axes.get(axis) else {
        return emit(at, elements);
    };
    for &(coordinate, held) in coordinates {
        at[axis] = coordinate;
        product(axes, axis + 1, elements * held, at, emit);
    }
}
