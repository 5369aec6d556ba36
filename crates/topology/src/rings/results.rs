//! Results of routes on a fabric.

use super::Fabric;
use std::fmt;

/// Expected use of one link, or of the interface from which it leaves, per packet of the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkUse {
    /// Crossings by send packets.
    pub sends: f64,
    /// Crossings by echo packets: each goes on from where its send packet left the ring to where
    /// that had entered it.
    pub echoes: f64,
    /// Send packets that enter the ring here, from the client or from another ring.
    pub starts: f64,
    /// Those of them from the client.
    pub entries: f64,
    /// Send packets that leave the ring here, for the client or for another ring.
    pub ends: f64,
}

/// What a packet of the traffic asks of the fabric on average.
#[derive(Debug, Clone, PartialEq)]
pub struct Averages {
    /// By number of the link.
    pub links: Vec<LinkUse>,
    /// Links that it crosses.
    pub mean_links: f64,
    /// Changes of ring on its way.
    pub mean_changes: f64,
    /// Probability of each number of links, from 0.
    pub distances: Vec<f64>,
}

/// Input queues that wait for one another in a circle: when all of them are full of packets for the
/// next, none of these can move.
///
/// Rings themselves never block, as refused packets go round as busy echoes; so such a circle shows
/// as packets that are sent again and again and refused each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitCycle {
    /// The interfaces of the queues, each by the number of its link.
    pub interfaces: Vec<u32>,
    /// For each of them its ring and its node.
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

/// Results of a walk over all pairs of nodes, where one node is not representative.
#[derive(Debug, Clone)]
pub(super) struct AllPairs {
    /// Over traffic from every live node to every other one alike.
    pub averages: Averages,
    /// Whether queues can wait for one another in a circle.
    pub waiting: Result<(), WaitCycle>,
}
