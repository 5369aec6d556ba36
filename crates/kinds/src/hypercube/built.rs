//! A hypercube as it was built.

use super::analysis::{Limits, Queueing};
use isthmus_machine::hypercube::Machine;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_workload::spec::TrafficSpec;
use std::sync::Arc;

/// A machine with its description.
#[derive(Debug, Clone)]
pub struct Built {
    pub(super) spec: Arc<HypercubeSpec>,
    pub(super) machine: Arc<Machine>,
    /// What limits it under traffic seen before, whatever the load.
    pub(super) limits: Limits,
}

impl Built {
    /// The point in the analytic model's numbers, if the model covers it.
    pub fn queueing(&self, traffic: &TrafficSpec) -> Option<Queueing> {
        Queueing::new(&self.machine, &self.spec, traffic)
    }
}
