//! Simulations of jobs on SCI fabrics, with the traits through which experiments start and measure them.

use super::super::subject::{Built, built, collapse};
use super::super::{SciSummary, figures};
use super::{SciJobs, capacity};
use crate::jobs::behind;
use crate::jobs::capacity::PredictableJob;
use crate::jobs::{self, Measured, Running, Runs};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::subject::{Counted, Counts, Overlay, Simulated, Subject};
use isthmus_experiment::uses::Uses;
use isthmus_experiment::{Flaw, Kind};
use isthmus_machine::jobs::Replication as _;
use isthmus_machine::sci::spec::{JobsOnRings, SciSpec, Transfer};
use isthmus_machine::sci::{JobsSimulation, Machine};
use std::sync::Arc;

impl Kind for SciJobs {
    /// An SCI fabric and its routes, from which simulations are started.
    type Built = Built;
    /// Properties of the SCI fabric that results contain.
    type Summary = SciSummary;

    /// Build the SCI fabric that a scenario describes.
    fn build(spec: &SciSpec) -> Result<Built, Flaw> {
        built(spec)
    }

    /// Return a point of a sweep, which experiments simulate and measure: this SCI fabric with these jobs.
    fn subject(built: &Built, work: &JobsOnRings) -> Result<Arc<dyn Subject>, Flaw> {
        let (machine, transfer) = (built.shared(), work.transfer);
        jobs::subject(FabricForJobs { machine, transfer }, &work.jobs)
    }

    /// Return the properties of the SCI fabric that results contain.
    fn summary(built: &Built) -> SciSummary {
        figures::summary(built.machine())
    }

    /// Return the names of all latencies that a simulation of this workload measures.
    fn measures(work: &JobsOnRings) -> Vec<String> {
        jobs::names(&work.jobs)
    }
}

/// An SCI fabric on which jobs run, and the rule that splits their messages into transactions.
#[derive(Debug)]
struct FabricForJobs {
    machine: Arc<Machine>,
    transfer: Transfer,
}

impl Runs for FabricForJobs {
    /// Start a simulation of the jobs at cycle 0. `seed` and `replication` determine its random numbers.
    fn begin(&self, jobs: &Measured, seed: u64, replication: u64) -> Box<dyn Simulated> {
        Box::new(Running {
            simulation: JobsSimulation::new(
                Arc::clone(&self.machine),
                self.transfer,
                &jobs.traffic,
                &jobs.layout,
                seed,
                replication,
            ),
            observer: jobs.observer_state(self.node_count()),
            counts,
            collapse: |simulation| {
                let cycle_us = simulation.machine().clock().cycle_us();
                Some(collapse(simulation.stall()?, cycle_us))
            },
        })
    }

    /// Return the length of a simulated cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        self.machine.clock().cycle_us()
    }

    /// Return the number of nodes.
    fn node_count(&self) -> u32 {
        self.machine.fabric().node_count()
    }

    /// Return the number of nodes that send messages.
    fn senders(&self) -> u64 {
        self.machine.fabric().live_nodes().len() as u64
    }

    /// Return a lower bound, in ns, of the mean time of a job's message on an otherwise idle fabric.
    fn alone_ns(&self, jobs: &Measured, asks: &PredictableJob<'_>) -> f64 {
        capacity::alone_ns(&self.machine, self.transfer, jobs, asks, None)
    }

    /// Return the demand of the jobs on each part of the SCI fabric, and the capacity of the part.
    fn capacity(&self, jobs: &Measured) -> Capacity {
        let devices = self.devices(jobs);
        capacity::capacity(&self.machine, self.transfer, jobs, devices.as_ref())
    }

    /// Return the utilisation of the parts of the SCI fabric, and the bottleneck among them.
    fn uses(&self, jobs: &Measured, counted: &[Counted], overlay: &Overlay) -> Uses {
        let (servers, storage) = (&jobs.layout.servers, &jobs.traffic.storage);
        let devices = behind::parts(counted, 0, servers, self.cycle_us(), storage);
        figures::uses(counted, &self.machine, None, devices, overlay)
    }
}

/// Return the counters of the links and storage devices in a simulation.
fn counts(simulation: &JobsSimulation) -> Counts {
    let links = simulation.links();
    Counts {
        channels: links.flat_map(|link| [link.send, link.echo]).collect(),
        devices: behind::counts(simulation.counted_behind()),
        ..Counts::default()
    }
}
