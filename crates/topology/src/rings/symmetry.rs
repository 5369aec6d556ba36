//! Symmetry of tori without faults: a translation along the dimensions does not change the routes.
//!
//! A translation maps rings onto rings. It also maps the paths between two nodes, with their probabilities, onto the
//! paths between the two translated nodes. So the traffic to one node determines the traffic to all others, and a sum
//! over all pairs takes the time of one destination.

use std::collections::BTreeSet;

use super::flows::Flow;
use super::grid::Grid;
use super::results::WaitCycle;
use super::routes::{Method, Routes};
use crate::deadlock;

impl Routes {
    /// Return whether all nodes are equivalent, so that averages over uniform traffic need no visit of all pairs.
    pub fn all_nodes_are_alike(&self) -> bool {
        self.symmetric().is_some()
    }

    /// Return the grid of the torus if it is symmetric: every shift along a dimension maps paths onto paths. None if
    /// the paths come from a table, as on tori with faults.
    pub(super) fn symmetric(&self) -> Option<&Grid> {
        match self.method() {
            Method::Arithmetic(grid) => Some(grid),
            Method::Table(_) | Method::Mixed(..) => None,
        }
    }

    /// Return the class of each link, ordered by link number. Translations map a link onto all links of its class and
    /// onto no others.
    pub(super) fn link_classes(&self, grid: &Grid) -> Vec<usize> {
        let fabric = self.fabric();
        let links = (0..).zip(fabric.links());
        links
            .map(|(number, link)| grid.link_class(link.ring, number - fabric.link(link.ring, 0)))
            .collect()
    }

    /// Compute the result of [`check_waiting`](Self::check_waiting) from the traffic to one node.
    pub(super) fn check_symmetric_waiting(&self, grid: &Grid) -> Result<(), WaitCycle> {
        let fabric = self.fabric();
        let classes = self.link_classes(grid);
        let class_count = classes.iter().max().map_or(0, |last| last + 1);
        // For each node and link class, the link of this class that leaves the node; there is exactly one.
        let mut leaving = vec![0; fabric.node_count() as usize * class_count];
        for (number, link) in (0u32..).zip(fabric.links()) {
            leaving[link.from as usize * class_count + classes[number as usize]] = number;
        }
        // For each class of queues: the queues for which a queue of the class waits, as their position relative to it
        // and their class.
        let mut waits: Vec<BTreeSet<(u32, usize)>> = vec![BTreeSet::new(); class_count];
        let mut note = |flow: Flow| {
            if let Some(from) = flow.from {
                let [waiting, awaited] = [from, flow.stretch.beyond];
                let [here, there] =
                    [waiting, awaited].map(|link| fabric.links()[link as usize].from);
                let [class, other] = [waiting, awaited].map(|link| classes[link as usize]);
                waits[class].insert((grid.difference(here, there), other));
            }
        };
        self.visit_to(0, |_, _| 1.0, &mut note);
        let successors = |link: usize| {
            let from = fabric.links()[link].from;
            let waits = waits[classes[link]].iter();
            let awaited = waits.map(|&(offset, class)| {
                let node = grid.sum(from, offset);
                leaving[node as usize * class_count + class] as usize
            });
            let mut awaited: Vec<usize> = awaited.collect();
            awaited.sort_unstable();
            awaited
        };
        match deadlock::check(fabric.links().len(), successors) {
            Ok(_) => Ok(()),
            Err(cycle) => Err(WaitCycle::new(fabric, &cycle.channels)),
        }
    }
}
