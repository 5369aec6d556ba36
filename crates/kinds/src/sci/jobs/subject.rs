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
    type Built = Built;
    type Summary = SciSummary;

    fn build(spec: &SciSpec) -> Result<Built, Flaw> {
        built(spec)
    }

    fn subject(built: &Built, work: &JobsOnRings) -> Result<Arc<dyn Subject>, Flaw> {
        let (machine, transfer) = (built.shared(), work.transfer);
        jobs::subject(FabricForJobs { machine, transfer }, &work.jobs)
    }

    fn summary(built: &Built) -> SciSummary {
        figures::summary(built.machine())
    }

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

    fn cycle_us(&self) -> f64 {
        self.machine.clock().cycle_us()
    }

    fn node_count(&self) -> u32 {
        self.machine.fabric().node_count()
    }

    fn senders(&self) -> u64 {
        self.machine.fabric().live_nodes().len() as u64
    }

    fn alone_ns(&self, jobs: &Measured, asks: &Foretold<'_>) -> f64 {
        capacity::alone_ns(&self.machine, self.transfer, jobs, asks, None)
    }

    fn capacity(&self, jobs: &Measured) -> Capacity {
        let devices = self.devices(jobs);
        capacity::capacity(&self.machine, self.transfer, jobs, devices.as_ref())
    }

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
