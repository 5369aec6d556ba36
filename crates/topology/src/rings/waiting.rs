//! Whether the queues of a fabric can wait for one another in a circle.

use super::flows::Flow;
use super::results::WaitCycle;
use super::{Fabric, Routes};
use crate::deadlock::Dependencies;

impl Routes {
    /// Checks that no circle of waiting queues is possible under the rule, whatever the traffic.
    ///
    /// A packet that leaves ring r at node v for ring s, to leave that at node w, waits in the input
    /// queue of v on r until the output queue of v on s has room; that gives up a slot only when the
    /// input queue of w on s has taken a packet. So the former may wait for the latter. A queue
    /// whose packets are all for the client waits for nothing, as clients always take them. When
    /// there is no circle among these dependencies, some queue can always move on.
    ///
    /// Takes the time of [`uniform_averages`](Self::uniform_averages).
    ///
    /// # Errors
    /// A shortest circle through one of the queues that are on any.
    pub fn check_waiting(&self) -> Result<(), WaitCycle> {
        match self.symmetric() {
            Some(grid) => self.check_symmetric_waiting(grid),
            None => self.pairs().waiting.clone(),
        }
    }
}

/// Which input queue waits for which.
pub(super) struct Waits<'a> {
    fabric: &'a Fabric,
    dependencies: Dependencies,
}

impl<'a> Waits<'a> {
    pub fn new(fabric: &'a Fabric) -> Self {
        Self {
            fabric,
            dependencies: Dependencies::new(fabric.links().len()),
        }
    }

    pub fn note(&mut self, flow: Flow) {
        if let Some(from) = flow.from {
            let path = [from as usize, flow.stretch.beyond as usize];
            self.dependencies.add_path(path);
        }
    }

    pub fn check(&self) -> Result<(), WaitCycle> {
        match self.dependencies.check() {
            Ok(_) => Ok(()),
            Err(cycle) => Err(WaitCycle::new(self.fabric, &cycle.channels)),
        }
    }
}
