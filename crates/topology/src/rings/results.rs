//! Results of routes on a fabric.

use super::Fabric;
use std::fmt;

/// Expected use of one link, and of the interface that it leaves, per packet of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkUse {
    /// Crossings by send packets.
    pub sends: f64,
    /// Crossings by echo packets. An echo continues from the interface where its send packet left
    /// the ring to the interface where that entered it.
    pub echoes: f64,
    /// Send packets that enter the ring here, from the client or from another ring.
    pub starts: f64,
    /// Send packets among `starts` that come from the client.
    pub entries: f64,
    /// Send packets that leave the ring here, for the client or for another ring.
    pub ends: f64,
}

/// Mean load of the fabric by a packet of the traffic.
#[derive(Debug, Clone, PartialEq)]
pub struct Averages {
    /// Use of each link.
    pub links: Vec<LinkUse>,
    /// Links that a packet crosses.
    pub mean_links: f64,
    /// Changes of ring of a packet.
    pub mean_changes: f64,
    /// Probability of each number of links, from 0.
    pub distances: Vec<f64>,
}

/// Input queues that wait for one another in a cycle. If each is full of packets for the next, none
/// of these packets can move.
///
/// Rings themselves never block, since refused packets become busy echoes. So the cycle appears as
/// packets that are sent again and again and refused each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitCycle {
    /// The interfaces of the queues, each by its link number.
    pub interfaces: Vec<u32>,
    /// Ring and node of each interface.
    pub places: Vec<(u32, u32)>,
}

impl WaitCycle {
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

/// Results over all pairs of nodes, for fabrics where one node does not represent all.
#[derive(Debug, Clone)]
pub(super) struct AllPairs {
    /// Averages over uniform traffic between all live nodes.
    pub averages: Averages,
    /// Whether queues can wait for one another in a cycle.
    pub waiting: Result<(), WaitCycle>,
}
