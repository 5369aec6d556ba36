//! Plans from one layout to another: which rank sends which elements to which other. Each rank computes its
//! part alone.

use crate::comb::Comb;
use crate::family::{Family, shared, shared_size};
use crate::layout::{self, Grid, Layout};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reason why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// The layouts are of arrays of different shapes.
    #[error(
        "data come from an array of shape {from:?} and go to one of shape {to:?}: both must be the same"
    )]
    Shapes {
        /// Shape of the source.
        from: Vec<u64>,
        /// Shape of the destination.
        to: Vec<u64>,
    },
}

/// Message to or from another rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Index of the other rank in its layout.
    pub peer: u32,
    /// Number of elements.
    pub elements: u64,
}

/// Elements that go from a part of one rank to a part of another: the product of these families over the
/// dimensions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Part of the source rank.
    pub from_part: usize,
    /// Part of the destination rank.
    pub to_part: usize,
    /// Families of each dimension.
    pub dims: Vec<Vec<Family>>,
}

impl Section {
    /// Return the number of elements.
    pub fn size(&self) -> u64 {
        let along = |families: &Vec<Family>| -> u64 { families.iter().map(Family::size).sum() };
        self.dims.iter().map(along).product()
    }
}

/// A plan to redistribute an array from one layout to another.
///
/// Ranks are identified by their index in their layout; [`Layout::rank`] gives their number. A plan holds no
/// lists: any rank alone computes each result from both layouts. The time depends on the numbers of ranks and
/// on the relative position of the blocks of both, not on the number of elements.
#[derive(Clone, Debug)]
pub struct Plan {
    from: Arc<Layout>,
    to: Arc<Layout>,
}

impl Plan {
    /// Create the plan from one layout to another.
    ///
    /// # Errors
    ///
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

    /// Return the layout of the source.
    pub fn from(&self) -> &Arc<Layout> {
        &self.from
    }

    /// Return the layout of the destination.
    pub fn to(&self) -> &Arc<Layout> {
        &self.to
    }

    /// Return the messages that rank `from` of the source layout sends, by index of the receiver. They include
    /// the elements that stay on the same rank.
    pub fn sends(&self, from: u32) -> Vec<Message> {
        let own_parts = self.from.parts(from);
        let found = overlaps(&own_parts, &self.to);
        let given = found
            .into_iter()
            .filter(|message| self.is_sender(from, message.peer));
        given.collect()
    }

    /// Return the messages that rank `to` of the destination layout receives, by index of the sender.
    pub fn receives(&self, to: u32) -> Vec<Message> {
        let own_parts = self.to.parts(to);
        let found = overlaps(&own_parts, &self.from);
        found
            .into_iter()
            .filter(|message| self.is_sender(message.peer, to))
            .collect()
    }

    /// Return the elements that go from one rank to another.
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

    /// Return whether rank `from`, among the ranks that hold the same elements, sends them to rank `to`. If the
    /// receiver is one of them, it sends to itself. Otherwise the senders take turns.
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

/// Return the number of elements of these parts that each rank of a layout holds, for ranks that hold any, by
/// index.
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

fn grid_overlaps(part: &[Comb], grid: &Grid, shape: &[u64]) -> Vec<Message> {
    // For each axis of the grid, the coordinates that hold some indices of the part, and the number of these.
    // Dimensions that are whole at all processes give a factor.
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
