//! Simulations of jobs on SCI fabrics, as experiments start and measure them.

use super::super::subject::{Built, built, collapse};
use super::super::{SciSummary, figures};
use super::{SciJobs, capacity};
use crate::jobs::behind;
use crate::jobs::capacity::Foretold;
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
    /// The machine that is built from its description.
    type Built = Built;
    /// Summary of the machine for the results.
    type Summary = SciSummary;

    /// Build the machine from its description.
    fn build(spec: &SciSpec) -> Result<Built, Flaw> {
        built(spec)
    }

    /// Return the machine under this workload, which experiments can simulate.
    fn subject(built: &Built, work: &JobsOnRings) -> Result<Arc<dyn Subject>, Flaw> {
        let (machine, transfer) = (built.shared(), work.transfer);
        jobs::subject(FabricForJobs { machine, transfer }, &work.jobs)
    }

    /// Return the summary of the machine for the results.
    fn summary(built: &Built) -> SciSummary {
        figures::summary(built.machine())
    }

    /// Return the names of all latencies that results contain under this workload.
    fn measures(work: &JobsOnRings) -> Vec<String> {
        jobs::names(&work.jobs)
    }
}

/// An SCI fabric as a machine that jobs run on.
#[derive(Debug)]
struct FabricForJobs {
    machine: Arc<Machine>,
    transfer: Transfer,
}

impl Runs for FabricForJobs {
    /// Start a simulation with the random streams of this seed and replication.
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

    /// Return the length of a cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        self.machine.clock().cycle_us()
    }

    /// Return the number of nodes.
    fn node_count(&self) -> u32 {
        self.machine.fabric().node_count()
    }

    /// Return the number of nodes that send.
    fn senders(&self) -> u64 {
        self.machine.fabric().live_nodes().len() as u64
    }

    /// Return the time that a message of a job spends outside its device on an idle machine, in ns.
    fn alone_ns(&self, jobs: &Measured, asks: &Foretold<'_>) -> f64 {
        capacity::alone_ns(&self.machine, self.transfer, jobs, asks, None)
    }

    /// Return the demand on each kind of part of the machine and the supply of the parts.
    fn capacity(&self, jobs: &Measured) -> Capacity {
        let devices = self.devices(jobs);
        capacity::capacity(&self.machine, self.transfer, jobs, devices.as_ref())
    }

    /// Return the utilisation of the parts of the machine, and the bottleneck.
    fn uses(&self, jobs: &Measured, counted: &[Counted], overlay: &Overlay) -> Uses {
        let (servers, storage) = (&jobs.layout.servers, &jobs.traffic.storage);
        let devices = behind::parts(counted, 0, servers, self.cycle_us(), storage);
        figures::uses(counted, &self.machine, None, devices, overlay)
    }
}

/// Return the counts of links and devices.
fn counts(simulation: &JobsSimulation) -> Counts {
    let links = simulation.links();
    Counts {
        channels: links.flat_map(|link| [link.send, link.echo]).collect(),
        devices: behind::counts(simulation.counted_behind()),
        ..Counts::default()
    }
}
