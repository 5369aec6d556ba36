//! Bundles: all links of one direction between a subtree and the rest of the tree.
//!
//! As packets may go over any of them, an adaptive ascent sees a tree whose links are the bundles,
//! each as wide as its links together (the fat tree of C. E. Leiserson, *Fat-trees: universal
//! networks for hardware-efficient supercomputing*, IEEE Trans. Comput. C-34(10), 1985).

use std::collections::BTreeMap;

use super::Tree;
use super::links::Crossing;
use super::tree::Level;

impl Tree {
    /// Number of bundles: two for each subtree with links up, node by node first, each time that up
    /// first, then that down.
    pub fn bundle_count(&self) -> u32 {
        let top = self.levels.len() - 1;
        self.first_bundle(top)
    }

    /// The links of a bundle, in the order of the vertices over its subtree and their ports up.
    ///
    /// # Panics
    /// When there is no such bundle.
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

    /// What one unit of traffic from a node asks of each bundle, if it goes to these destinations in
    /// equal parts, the node itself left out. Ascending by bundle, without zeros; nothing when no
    /// other destination is left.
    ///
    /// # Panics
    /// When there is no such node.
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

    fn bundle(&self, level: usize, subtree: u32, up: bool) -> u32 {
        self.first_bundle(level) + 2 * subtree + u32::from(!up)
    }

    fn first_bundle(&self, level: usize) -> u32 {
        let nodes = self.node_count();
        let subtrees = self.levels[..level]
            .iter()
            .map(|level| nodes / level.subtree);
        2 * subtrees.sum::<u32>()
    }

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

fn share_of_each(source: u32, destinations: &[u32]) -> f64 {
    let others = destinations.iter().filter(|&&other| other != source);
    1.0 / others.count().max(1) as f64
}
