//! Results that need a walk over all pairs of nodes.

use super::Routes;
use super::averages::{Sums, Uses};
use super::results::AllPairs;
use super::waiting::Waits;

impl Routes {
    /// What all pairs of nodes tell, walked once.
    pub(super) fn pairs(&self) -> &AllPairs {
        self.pairs.get_or_init(|| self.walk())
    }

    fn walk(&self) -> AllPairs {
        let mut sums = Sums::default();
        let mut uses = Uses::new(self.fabric());
        let mut waits = Waits::new(self.fabric());
        self.visit(
            |source, destination| {
                sums.add(self.distance(source, destination) as usize, 1.0);
                1.0
            },
            |flow| {
                uses.count(flow);
                waits.note(flow);
            },
        );
        AllPairs {
            averages: sums.averages(uses.of_links()),
            waiting: waits.check(),
        }
    }
}
