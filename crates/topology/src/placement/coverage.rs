//! Quality of a placement: distances of PEs from I/O nodes, and balance of the load.

use crate::{Adjacency, distance};

/// Distances of PEs from their I/O node, and the number of PEs per I/O node.
///
/// Distances are hops between PEs: 0 for a class I PE, whose I/O node is attached to it. The "links
/// to the I/O node" of the paper are one more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coverage {
    distance_histogram: Vec<u32>,
    served: Vec<u32>,
    perfect: bool,
}

impl Coverage {
    /// Return the coverage of a placement, in which `server` is the index of each PE's I/O node.
    pub(super) fn new(network: &impl Adjacency, io_nodes: &[u32], server: &[u32]) -> Self {
        // The I/O node that serves a PE is always one of the nearest, also in placements by codes.
        // So its distance is the distance to the nearest I/O node.
        let hops = distance::hops_from(network, io_nodes);
        let longest = hops.iter().flatten().max().map_or(0, |&hops| hops as usize);
        let mut distance_histogram = vec![0; longest + 1];
        for hops in hops.into_iter().flatten() {
            distance_histogram[hops as usize] += 1;
        }
        let mut served = vec![0; io_nodes.len()];
        for &index in server {
            served[index as usize] += 1;
        }
        let mut reached = vec![0u32; server.len()];
        for &pe in io_nodes {
            reached[pe as usize] += 1;
            for neighbor in network.neighbors(pe) {
                reached[neighbor as usize] += 1;
            }
        }
        Self {
            distance_histogram,
            served,
            perfect: reached.iter().all(|&count| count == 1),
        }
    }

    /// Return, for each number of hops, the number of PEs at this distance from the PE of their I/O
    /// node. Entry 0 counts the PEs to which an I/O node is attached (class I).
    pub fn distance_histogram(&self) -> &[u32] {
        &self.distance_histogram
    }

    /// Return the number of PEs that each I/O node serves, in the order of the list of I/O nodes.
    pub fn served(&self) -> &[u32] {
        &self.served
    }

    /// Return whether every PE is within one hop of exactly one I/O node: the optimal allocation of
    /// section 3.2 of the hypercube paper.
    pub fn is_perfect(&self) -> bool {
        self.perfect
    }

    /// Return whether every PE is within one hop of some I/O node.
    pub fn is_dominating(&self) -> bool {
        self.distance_histogram.len() <= 2
    }

    /// Return the largest number of hops from a PE to the PE of its I/O node.
    pub fn longest_distance(&self) -> u32 {
        self.distance_histogram.len() as u32 - 1
    }

    /// Return the mean number of hops from a PE to the PE of its I/O node.
    pub fn mean_distance(&self) -> f64 {
        let (mut hops, mut pes) = (0, 0);
        for (distance, &count) in self.distance_histogram.iter().enumerate() {
            hops += distance as u64 * u64::from(count);
            pes += u64::from(count);
        }
        hops as f64 / pes as f64
    }

    /// Return the smallest and largest number of PEs that an I/O node serves.
    pub fn served_range(&self) -> (u32, u32) {
        let fewest = self.served.iter().copied().min().unwrap_or(0);
        let most = self.served.iter().copied().max().unwrap_or(0);
        (fewest, most)
    }
}
