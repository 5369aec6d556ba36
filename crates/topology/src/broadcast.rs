//! Builds broadcast trees, which lead from one node to all nodes, in as few steps as the network allows.

use thiserror::Error;

use crate::matching::Matching;
use crate::{CubeFaults, Hop, IncompleteHypercube, distance};

/// Limit on the work for a broadcast in a cube with faults: the number of node visits while the best order of
/// dimensions is searched.
const WORK_MAX: u64 = 1 << 24;

/// Reason why a node cannot be the root of a broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BroadcastError {
    /// The root does not exist.
    #[error("broadcast from node {root}, but the nodes are 0 to {}", node_count - 1)]
    MissingRoot {
        /// Number of the node that was requested as the root.
        root: u32,
        /// Number of nodes of the cube.
        node_count: u32,
    },
    /// The root has failed.
    #[error("broadcast from node {root}, which has failed")]
    FailedRoot {
        /// Number of the node that was requested as the root.
        root: u32,
    },
}

/// A tree along which one node sends a message to all nodes. In each step every node that has the
/// message sends it to at most one neighbour.
///
/// Without faults this is the binomial spanning tree, or its counterpart if the number of nodes is
/// no power of two. The broadcast takes ceil(log2 nodes) steps, which is the minimum (section 3.2
/// of the hypercube paper: "Broadcast on this structure takes Θ(log N) communication steps").
///
/// With faults, in each step as many nodes as possible receive the message (a maximum matching that
/// prefers one dimension, which changes from step to step). Of all choices of the first preferred
/// dimension, the one with the fewest steps is used. Working nodes without a path to the root are
/// not in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BroadcastTree {
    root: u32,
    step_count: u32,
    lower_bound: u32,
    /// Step in which each node receives the message: 0 for the root, `None` for nodes outside the
    /// tree.
    received: Vec<Option<u32>>,
    children: Vec<u32>,
    /// Index of each node's first child in `children`. The last entry is the length of `children`, the end of the last
    /// node's children.
    first_child: Vec<usize>,
}

impl BroadcastTree {
    /// Return the broadcast tree with the root `root`.
    ///
    /// # Errors
    /// When `root` does not exist or has failed.
    pub fn new(faults: &CubeFaults, root: u32) -> Result<Self, BroadcastError> {
        let cube = faults.cube();
        if !cube.contains(root) {
            return Err(BroadcastError::MissingRoot {
                root,
                node_count: cube.node_count(),
            });
        }
        if faults.is_failed(root) {
            return Err(BroadcastError::FailedRoot { root });
        }
        if faults.is_none() {
            return Ok(Self::from_sends(cube, root, &binomial(cube, root)));
        }
        let mut tree = Self::from_sends(cube, root, &around_faults(faults, root));
        let hops = distance::hops_from(faults, &[root]);
        let furthest = hops.into_iter().flatten().max().unwrap_or(0);
        tree.lower_bound = tree.lower_bound.max(furthest);
        Ok(tree)
    }

    /// Build the tree of a broadcast in `cube` from node `root`, given the list of all of its sends.
    fn from_sends(cube: IncompleteHypercube, root: u32, sends: &[Send]) -> Self {
        let node_count = cube.node_count() as usize;
        let mut received = vec![None; node_count];
        received[root as usize] = Some(0);
        let mut first_child = vec![0; node_count + 1];
        for send in sends {
            received[send.to as usize] = Some(send.step);
            first_child[send.from as usize + 1] += 1;
        }
        for node in 0..node_count {
            first_child[node + 1] += first_child[node];
        }
        let mut next_child = first_child.clone();
        let mut children = vec![0; sends.len()];
        let mut in_order: Vec<_> = sends.iter().collect();
        in_order.sort_by_key(|send| (send.step, send.from));
        for send in &in_order {
            children[next_child[send.from as usize]] = send.to;
            next_child[send.from as usize] += 1;
        }
        Self {
            root,
            step_count: in_order.last().map_or(0, |send| send.step),
            lower_bound: (sends.len() as u32 + 1).next_power_of_two().ilog2(),
            received,
            children,
            first_child,
        }
    }

    /// Return the number of the root, the node that sends the message first.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Return the number of steps after which all nodes of the tree have the message.
    pub fn step_count(&self) -> u32 {
        self.step_count
    }

    /// Return a lower bound on the number of steps of any broadcast from this root to the same
    /// nodes: in a step the number of nodes with the message at most doubles, and the message moves
    /// one hop further.
    pub fn lower_bound(&self) -> u32 {
        self.lower_bound
    }

    /// Return the number of the step in which `node` receives the message: 0 for the root, `None` if it never receives
    /// it.
    ///
    /// # Panics
    /// If `node` is no node of the cube.
    pub fn step(&self, node: u32) -> Option<u32> {
        self.received[node as usize]
    }

    /// Return the neighbours that `node` sends to, in the order of sending.
    ///
    /// # Panics
    /// If `node` is no node of the cube.
    pub fn children(&self, node: u32) -> &[u32] {
        &self.children[self.first_child[node as usize]..self.first_child[node as usize + 1]]
    }
}

/// A message that one node sends to a neighbour in one step of a broadcast.
#[derive(Debug, Clone, Copy)]
struct Send {
    step: u32,
    from: u32,
    to: u32,
}

/// Return the sends of a broadcast without faults in ceil(log2 nodes) steps.
///
/// In a complete cube, the number of nodes with the message doubles along one dimension after the
/// other. An incomplete cube has a complete lower half and an incomplete upper half. With a root in
/// the lower half, the broadcast in that half takes all steps except the last, in which all upper
/// nodes receive the message from their lower neighbours. With a root in the upper half, the root
/// sends the message to its lower neighbour in the first step, and then each half repeats this
/// procedure on its own.
fn binomial(cube: IncompleteHypercube, root: u32) -> Vec<Send> {
    let mut sends = Vec::with_capacity(cube.node_count() as usize - 1);
    let (mut base, mut node_count, mut first_step) = (0, cube.node_count(), 1);
    while !node_count.is_power_of_two() {
        let top = node_count.ilog2();
        let half = 1 << top;
        if root - base < half {
            complete_subcube(top, root, first_step, &mut sends);
            sends.extend((base + half..base + node_count).map(|to| Send {
                step: first_step + top,
                from: to - half,
                to,
            }));
            return sends;
        }
        sends.push(Send {
            step: first_step,
            from: root,
            to: root - half,
        });
        first_step += 1;
        complete_subcube(top, root - half, first_step, &mut sends);
        base += half;
        node_count -= half;
    }
    complete_subcube(node_count.ilog2(), root, first_step, &mut sends);
    sends
}

/// Append to `sends` the sends of a broadcast from `root` to the subcube of nodes that differ from it only in the low
/// `dimension` address bits; all of these nodes exist. The first message is sent in step `first_step`.
fn complete_subcube(dimension: u32, root: u32, first_step: u32, sends: &mut Vec<Send>) {
    for turn in 0..dimension {
        let along = dimension - 1 - turn;
        for informed in 0..1u32 << turn {
            let from = root ^ (informed << (along + 1));
            sends.push(Send {
                step: first_step + turn,
                from,
                to: from ^ (1 << along),
            });
        }
    }
}

/// Return the sends of the broadcast with the fewest steps of those that were tried, in a cube with faults.
fn around_faults(faults: &CubeFaults, root: u32) -> Vec<Send> {
    let dimension = faults.cube().dimension();
    let one_try = u64::from(faults.cube().node_count()) * u64::from(dimension);
    let tries = (WORK_MAX / one_try).clamp(1, u64::from(dimension)) as u32;
    (0..tries)
        .map(|offset| matching_sends(faults, root, offset))
        .min_by_key(|sends| sends.last().map_or(0, |send| send.step))
        .unwrap_or_default()
}

/// Return the sends of a broadcast in which as many nodes as possible send in each step: nodes with the message are
/// matched with neighbours without it. Of the dimensions 0 to d - 1, step 1 prefers d - 1 - `offset`, and each later
/// step the next lower one; d - 1 follows 0.
fn matching_sends(faults: &CubeFaults, root: u32, offset: u32) -> Vec<Send> {
    let cube = faults.cube();
    let dimension = cube.dimension();
    let mut informed = vec![false; cube.node_count() as usize];
    informed[root as usize] = true;
    let mut senders = vec![root];
    let mut sends = Vec::new();
    for step in 1.. {
        let preferred = (2 * dimension - 1 - offset - (step - 1) % dimension) % dimension;
        let targets = |node: u32| {
            let informed = &informed;
            faults
                .usable_dimensions(node)
                .map(move |dimension| Hop { node, dimension }.target())
                .filter(move |&to| !informed[to as usize])
        };
        senders.retain(|&node| targets(node).next().is_some());
        if senders.is_empty() {
            break;
        }
        let mut matching = Matching::new(&senders, informed.len());
        for (index, &node) in senders.iter().enumerate() {
            let to = node ^ (1 << preferred);
            if faults.is_usable(node, preferred) && !informed[to as usize] {
                matching.match_pair(index, to);
            }
        }
        matching.maximize(targets);
        let new: Vec<_> = matching.pairs().collect();
        for &(from, to) in &new {
            sends.push(Send { step, from, to });
            informed[to as usize] = true;
            senders.push(to);
        }
        senders.sort_unstable();
    }
    sends
}
