//! What only a walk over all pairs of nodes tells.

use super::Routes;
use super::averages::{Averages, Sums, Uses};
use super::waiting::{WaitCycle, Waits};

/// What a walk over all pairs of nodes tells, where it cannot be told from one node.
#[derive(Debug, Clone)]
pub(super) struct AllPairs {
    /// Over traffic from every live node to every other one alike.
    pub averages: Averages,
    /// Whether queues can wait for one another in a circle.
    pub waiting: Result<(), WaitCycle>,
}

impl AllPairs {
    pub fn walk(routes: &Routes) -> Self {
        let mut sums = Sums::default();
        let mut uses = Uses::new(routes.fabric());
        let mut waits = Waits::new(routes.fabric());
        routes.visit(
            |source, destination| {
                sums.add(routes.distance(source, destination) as usize, 1.0);
                1.0
            },
            |flow| {
                uses.count(flow);
                waits.note(flow);
            },
        );
        Self {
            averages: sums.averages(uses.of_links()),
            waiting: waits.check(),
        }
    }
}
