//! From one layout to another: who sends what to whom, as arithmetic that each rank does alone.

use crate::comb::Comb;
use crate::family::{Family, shared, shared_size};
use crate::layout::{self, Grid, Layout};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why there is no plan.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// The layouts are of arrays of different shapes.
    #[error(
        "data come from an array of shape {from:?} and go to one of shape {to:?}: both must be the same"
    )]
    Shapes {
        /// That of where data come from.
        from: Vec<u64>,
        /// That of where data go to.
        to: Vec<u64>,
    },
}

/// What a rank sends to, or receives from, another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The other's place in its layout.
    pub peer: u32,
    /// How many elements.
    pub elements: u64,
}

/// Elements that go from a part of one rank to a part of another: the product over the dimensions of these families.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The part of the rank that data come from.
    pub from_part: usize,
    /// The part of the rank that data go to.
    pub to_part: usize,
    /// By dimension.
    pub dims: Vec<Vec<Family>>,
}

impl Section {
    /// How many elements.
    pub fn size(&self) -> u64 {
        let along = |families: &Vec<Family>| -> u64 { families.iter().map(Family::size).sum() };
        self.dims.iter().map(along).product()
    }
}

/// A plan to redistribute an array from one layout to another.
///
/// Ranks are identified by their index in their layout; [`Layout::rank`] gives their number. A plan
/// holds no lists: each question is answered from both layouts, by any rank alone, in a time that
/// depends on the numbers of ranks and on how the blocks of both lie to one another, not on the
/// number of elements.
#[derive(Clone, Debug)]
pub struct Plan {
    from: Arc<Layout>,
    to: Arc<Layout>,
}

impl Plan {
    /// The plan from one layout to another.
    ///
    /// # Errors
    ///
    /// If they are not of arrays of one shape.
    pub fn new(from: Arc<Layout>, to: Arc<Layout>) -> Result<Self, PlanError> {
        if from.shape() != to.shape() {
            return Err(PlanError::Shapes {
                from: from.shape().to_vec(),
                to: to.shape().to_vec(),
            });
        }
        Ok(Self { from, to })
    }

    /// The layout that data come from.
    pub fn from(&self) -> &Arc<Layout> {
        &self.from
    }

    /// The layout that data go to.
    pub fn to(&self) -> &Arc<Layout> {
        &self.to
    }

    /// What the rank at this place of the layout that data come from sends, by place of the receiver. What stays on
    /// a rank of both layouts is among it.
    pub fn sends(&self, from: u32) -> Vec<Message> {
        let mine = self.from.parts(from);
        let found = overlaps(&mine, &self.to);
        let given = found
            .into_iter()
            .filter(|message| self.gives(from, message.peer));
        given.collect()
    }

    /// What the rank at this place of the layout that data go to receives, by place of the sender.
    pub fn receives(&self, to: u32) -> Vec<Message> {
        let mine = self.to.parts(to);
        let found = overlaps(&mine, &self.from);
        found
            .into_iter()
            .filter(|message| self.gives(message.peer, to))
            .collect()
    }

    /// What goes from one rank to another.
    pub fn sections(&self, from: u32, to: u32) -> Vec<Section> {
        if !self.gives(from, to) {
            return Vec::new();
        }
        let (from_parts, to_parts) = (self.from.parts(from), self.to.parts(to));
        let mut sections = Vec::new();
        for (from_part, mine) in from_parts.iter().enumerate() {
            for (to_part, peer_part) in to_parts.iter().enumerate() {
                sections.extend(section(mine, peer_part).map(|dims| Section {
                    from_part,
                    to_part,
                    dims,
                }));
            }
        }
        sections
    }

    /// Whether, of those ranks that hold the same elements, it is this one that gives them to another: that one
    /// itself where it is among them, and else they take turns.
    fn gives(&self, from: u32, to: u32) -> bool {
        let Some(grid) = self.from.as_grid().filter(|_| self.from.replicas() > 1) else {
            return true;
        };
        let at = grid.coordinates(from);
        let free = grid.free_axes();
        let itself = self
            .from
            .place(self.to.rank(to))
            .map(|place| grid.coordinates(place));
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

/// How many elements of these parts each rank of a layout holds, of those that hold any, by place.
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
    // Of each axis of the grid the coordinates that hold some of the part, and how many indices; what is whole at
    // all processes is a factor.
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
    tell: &mut impl FnMut(&[u32], u64),
) {
    let Some(coordinates) = axes.get(axis) else {
        return tell(at, elements);
    };
    for &(coordinate, held) in coordinates {
        at[axis] = coordinate;
        product(axes, axis + 1, elements * held, at, tell);
    }
}
