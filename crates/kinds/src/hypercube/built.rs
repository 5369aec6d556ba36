//! A hypercube machine, built from its description and ready to be simulated or analysed.

use super::analysis::{Limits, Queueing};
use isthmus_machine::hypercube::Machine;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_workload::spec::TrafficSpec;
use std::sync::Arc;

/// A hypercube that is ready to be simulated, with its description and the cache of its saturation limits.
#[derive(Debug, Clone)]
pub struct Built {
    pub(super) spec: Arc<HypercubeSpec>,
    pub(super) machine: Arc<Machine>,
    /// Cache of the machine's saturation limits by traffic; the limit does not depend on the load.
    pub(super) limits: Limits,
}

impl Built {
    /// Return the parameters of the analytic model for this traffic, or `None` if the model does not cover it.
    pub fn queueing(&self, traffic: &TrafficSpec) -> Option<Queueing> {
        Queueing::new(&self.machine, &self.spec, traffic)
    }
}
