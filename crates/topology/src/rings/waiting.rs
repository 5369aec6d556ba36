//! Check whether the queues of a fabric can wait for one another in a cycle.

use super::flows::Flow;
use super::results::WaitCycle;
use super::{Fabric, Routes};
use crate::deadlock::Dependencies;

impl Routes {
    /// Check that no cycle of waiting queues is possible under the routing rule, for any traffic.
    ///
    /// A packet changes from ring r to ring s at node v, and leaves s at node w. It waits in the
    /// input queue of v on r until the output queue of v on s has room. The output queue frees a
    /// slot only after the input queue of w on s has accepted a packet. So the input queue of v on
    /// r may wait for the input queue of w on s. A queue that only contains packets for the client
    /// never waits, as clients always accept packets. Without a cycle of these dependencies, some
    /// queue can always advance.
    ///
    /// The time is that of [`uniform_averages`](Self::uniform_averages).
    ///
    /// # Errors
    /// A shortest cycle through a queue that is on any cycle.
    pub fn check_waiting(&self) -> Result<(), WaitCycle> {
        match self.symmetric() {
            Some(grid) => self.check_symmetric_waiting(grid),
            None => self.pairs().waiting.clone(),
        }
    }
}

/// The dependencies between the input queues of a fabric.
pub(super) struct QueueDependencies<'a> {
    fabric: &'a Fabric,
    dependencies: Dependencies,
}

impl<'a> QueueDependencies<'a> {
    /// Return an empty set of dependencies between the queues of a fabric.
    pub fn new(fabric: &'a Fabric) -> Self {
        Self {
            fabric,
            dependencies: Dependencies::new(fabric.links().len()),
        }
    }

    /// Add the dependency of the flow's queue on the next one, if the flow changes rings.
    pub fn record(&mut self, flow: Flow) {
        if let Some(from) = flow.from {
            let path = [from as usize, flow.stretch.beyond as usize];
            self.dependencies.add_path(path);
        }
    }

    /// Check that no cycle of queues can wait for one another. The error names such a cycle.
    pub fn check(&self) -> Result<(), WaitCycle> {
        match self.dependencies.check() {
            Ok(_) => Ok(()),
            Err(cycle) => Err(WaitCycle::new(self.fabric, &cycle.channels)),
        }
    }
}
