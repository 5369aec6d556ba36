//! Routes: up to a nearest common ancestor, then down.

use super::Tree;
use super::tree::Level;
use crate::deadlock::{self, DependencyCycle, Numbering};

impl Tree {
    /// The level of the nearest common ancestors of two nodes, to which a packet between them
    /// ascends; 0 for a node and itself.
    ///
    /// # Panics
    /// When there is no such node.
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

    /// The links that a packet may ask for next while it holds this one: after a link up, those up
    /// from there, and those down to the other children; after a link down, those further down.
    ///
    /// # Panics
    /// When there is no such link.
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

    /// Proof that packets cannot wait for one another in a circle, whichever links they choose: a
    /// numbering of the links that rises along every route. (The numbers of the links themselves are
    /// another.) It holds for every rule of ascent, as all of them choose among the same links.
    ///
    /// # Errors
    /// The circle; there is none in any tree.
    pub fn check_deadlock(&self) -> Result<Numbering, DependencyCycle> {
        deadlock::check(self.link_count() as usize, |link| {
            self.successors(link as u32).map(|next| next as usize)
        })
    }
}
