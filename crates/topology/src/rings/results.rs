//! Results for routes on a fabric: loads of links, and cycles of waiting queues.

use super::Fabric;
use std::fmt;

/// Mean use of one link, and of the interface that it leaves, per packet of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkUse {
    /// Mean number of crossings by send packets.
    pub sends: f64,
    /// Mean number of crossings by echo packets. An echo continues from the interface where its
    /// send packet left the ring to the interface where the send packet entered the ring.
    pub echoes: f64,
    /// Mean number of send packets that enter the ring at this interface, from its client (the node
    /// itself) or from another ring.
    pub starts: f64,
    /// Mean number of send packets that enter the ring at this interface from its client (the node
    /// itself).
    pub entries: f64,
    /// Mean number of send packets that leave the ring at this interface, for its client (the node
    /// itself) or for another ring.
    pub ends: f64,
}

/// Mean load of the links of a fabric, and mean path length, per packet of the traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Averages {
    /// Mean use of each link per packet.
    pub links: Vec<LinkUse>,
    /// Mean number of links that a packet crosses.
    pub mean_links: f64,
    /// Mean number of times that a packet changes from one ring to another.
    pub mean_changes: f64,
    /// Probability that a packet crosses 0, 1, 2, ... links.
    pub distances: Vec<f64>,
}

/// Input queues that can wait for one another in a cycle. If each queue is full of packets for the
/// next one, none of these packets can move.
///
/// Rings themselves never block, since refused packets become busy echoes. So in a simulation such
/// a cycle appears as packets that are sent again and again and are refused each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitCycle {
    /// For each queue, the link number that identifies its interface.
    pub interfaces: Vec<u32>,
    /// For each queue, the ring and the node of its interface.
    pub places: Vec<(u32, u32)>,
}

impl WaitCycle {
    /// Return a cycle of the queues at these interfaces.
    pub(super) fn new(fabric: &Fabric, interfaces: &[usize]) -> Self {
        let place = |&interface: &usize| {
            let link = fabric.links()[interface];
            (link.ring, link.from)
        };
        Self {
            interfaces: interfaces.iter().map(|&link| link as u32).collect(),
            places: interfaces.iter().map(place).collect(),
        }
    }
}

impl fmt::Display for WaitCycle {
    /// Write the error message with the nodes and rings of the waiting queues.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "input queues can wait for one another in a circle: ")?;
        for (ring, node) in &self.places {
            write!(f, "node {node} on ring {ring} -> ")?;
        }
        match self.places.first() {
            Some((ring, node)) => write!(f, "node {node} on ring {ring}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for WaitCycle {}

/// Link loads, and the check for waiting cycles, over all pairs of nodes of a fabric. They are needed
/// if the nodes are not equivalent, so that one node cannot represent all.
#[derive(Debug, Clone)]
pub(super) struct AllPairs {
    /// Averages over uniform traffic between all live nodes.
    pub averages: Averages,
    /// `Ok` if queues never wait for one another in a cycle; otherwise such a cycle.
    pub waiting: Result<(), WaitCycle>,
}
