//! Link loads of a fabric, and the check whether packets can wait for one another in a cycle, computed over all pairs
//! of nodes.

use super::Routes;
use super::averages::{LinkLoads, Sums};
use super::results::AllPairs;
use super::waiting::QueueDependencies;

impl Routes {
    /// Return the link loads over all pairs of nodes and the check whether packets can wait in a cycle. The first call
    /// computes and stores them.
    pub(super) fn pairs(&self) -> &AllPairs {
        self.pairs.get_or_init(|| self.compute())
    }

    /// Compute the load of each link over all pairs of nodes, and check whether packets can wait for one another in a
    /// cycle.
    fn compute(&self) -> AllPairs {
        let mut sums = Sums::default();
        let mut uses = LinkLoads::new(self.fabric());
        let mut waits = QueueDependencies::new(self.fabric());
        self.visit(
            |source, destination| {
                sums.add(self.distance(source, destination) as usize, 1.0);
                1.0
            },
            |flow| {
                uses.record(flow);
                waits.record(flow);
            },
        );
        AllPairs {
            averages: sums.averages(uses.into_links()),
            waiting: waits.check(),
        }
    }
}
