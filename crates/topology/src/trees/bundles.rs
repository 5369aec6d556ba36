//! Bundles of links of a fat tree. A bundle consists of all links in one direction between a
//! subtree and the rest of the tree.
//!
//! Packets that choose their links upwards by load may use any link of a bundle. For them a bundle
//! is one link with the capacity of all of its links (the fat tree of C. E. Leiserson, *Fat-trees:
//! universal networks for hardware-efficient supercomputing*, IEEE Trans. Comput. C-34(10), 1985).

use std::collections::BTreeMap;

use super::Tree;
use super::links::Crossing;
use super::tree::Level;

impl Tree {
    /// Return the number of bundles. Each subtree with links up has two: the bundle up, then the
    /// bundle down. The bundles of nodes are the first.
    pub fn bundle_count(&self) -> u32 {
        let top = self.levels.len() - 1;
        self.first_bundle(top)
    }

    /// Return the links of a bundle, in the order of the switches at the top of the subtree and,
    /// for each switch, of its ports up.
    ///
    /// # Panics
    /// The bundle does not exist.
    pub fn bundle_links(&self, bundle: u32) -> impl Iterator<Item = u32> + '_ {
        let (level, subtree, up) = self.subtree_of(bundle);
        let Level {
            lanes, up_ports, ..
        } = self.levels[level];
        (0..lanes * up_ports).map(move |place| {
            self.number(Crossing {
                up,
                level,
                index: subtree * lanes + place / up_ports,
                port: place % up_ports,
            })
        })
    }

    /// Return the load of each bundle if a node sends one unit of traffic to these destinations in
    /// equal parts. The node itself is no destination. The result is in ascending order of bundles,
    /// without loads of zero. It is empty if there is no other destination.
    ///
    /// # Panics
    /// The node does not exist.
    pub fn bundle_shares(&self, source: u32, destinations: &[u32]) -> Vec<(u32, f64)> {
        let mut shares = BTreeMap::new();
        let share = share_of_each(source, destinations);
        for &destination in destinations {
            let level = self.level_between(source, destination) as usize;
            for level in 0..level {
                let size = self.levels[level].subtree;
                let up = self.bundle(level, source / size, true);
                let down = self.bundle(level, destination / size, false);
                *shares.entry(up).or_insert(0.0) += share;
                *shares.entry(down).or_insert(0.0) += share;
            }
        }
        shares.into_iter().collect()
    }

    /// Return the number of the bundle that contains all links up, or all links down, between a
    /// subtree and the rest of the tree.
    fn bundle(&self, level: usize, subtree: u32, up: bool) -> u32 {
        self.first_bundle(level) + 2 * subtree + u32::from(!up)
    }

    /// Return the number of the first bundle (all links of a subtree in one direction) on a level.
    fn first_bundle(&self, level: usize) -> u32 {
        let nodes = self.node_count();
        let subtrees = self.levels[..level]
            .iter()
            .map(|level| nodes / level.subtree);
        2 * subtrees.sum::<u32>()
    }

    /// Return the level, the subtree and the direction (true for up) of a bundle.
    fn subtree_of(&self, bundle: u32) -> (usize, u32, bool) {
        assert!(
            bundle < self.bundle_count(),
            "bundle {bundle}, but there are {} in {}",
            self.bundle_count(),
            self.name()
        );
        let mut level = self.levels.len() - 2;
        while self.first_bundle(level) > bundle {
            level -= 1;
        }
        let number = bundle - self.first_bundle(level);
        (level, number / 2, number.is_multiple_of(2))
    }
}

/// Return the share of its traffic that `source` sends to each of the `destinations` other than itself, if all get the
/// same: 1 / (number of these).
fn share_of_each(source: u32, destinations: &[u32]) -> f64 {
    let others = destinations.iter().filter(|&&other| other != source);
    1.0 / others.count().max(1) as f64
}
