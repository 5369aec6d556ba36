//! Routes in a fat tree: up to a nearest common ancestor, then down.

use super::Tree;
use super::tree::Level;
use crate::deadlock::{self, DependencyCycle, Numbering};

impl Tree {
    /// Return the level of the nearest common ancestors of two nodes, to which a packet between
    /// them ascends; 0 for a node and itself.
    ///
    /// # Panics
    /// A node does not exist.
    pub fn level_between(&self, source: u32, destination: u32) -> u32 {
        let count = self.node_count();
        assert!(
            source < count && destination < count,
            "nodes {source} and {destination} of {count}"
        );
        let joins = |level: &Level| source / level.subtree == destination / level.subtree;
        let level = self.levels.iter().position(joins);
        level.expect("the top is above all nodes") as u32
    }

    /// Return the links that a packet may request next while it holds this link: after a link up,
    /// the links up from its end and the links down to the other children; after a link down, the
    /// links further down.
    ///
    /// # Panics
    /// The link does not exist.
    pub fn successors(&self, link: u32) -> impl Iterator<Item = u32> + use<> {
        let crossing = self.crossing(link);
        let to = self.target(link);
        let (up, back) = match crossing.up {
            true => {
                let parallel = self.levels[crossing.level + 1].down.parallel;
                let first =
                    self.reverse(link) - crossing.port / self.levels[crossing.level].up.parents;
                (self.ascents(to), first..first + parallel)
            }
            false => (0..0, 0..0),
        };
        up.chain(
            self.all_descents(to)
                .filter(move |next| !back.contains(next)),
        )
    }

    /// Prove that packets cannot deadlock, whichever links they choose: return a numbering of the
    /// links that increases along every route. (The link numbers themselves also increase along
    /// every route.) The proof is valid for every rule of ascent, as all rules choose among the
    /// same links.
    ///
    /// # Errors
    /// A cycle of links; no tree has one.
    pub fn check_deadlock(&self) -> Result<Numbering, DependencyCycle> {
        deadlock::check(self.link_count() as usize, |link| {
            self.successors(link as u32).map(|next| next as usize)
        })
    }
}
