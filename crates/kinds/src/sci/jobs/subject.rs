//! SCI fabrics with the jobs that run on them, as subjects of experiments.

use super::super::subject::{Built, built, collapse};
use super::super::{SciSummary, figures};
use super::{SciJobs, capacity};
use crate::jobs::{self, Ears, Measured};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, JobSummary, NodeUse};
use isthmus_experiment::subject::{
    Counted, Counts, FlowInfo, Overlay, RateInfo, Simulated, Subject,
};
use isthmus_experiment::uses::Uses;
use isthmus_experiment::{Flaw, Kind};
use isthmus_kernel::Cycles;
use isthmus_machine::jobs::Observer as _;
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
        let machine = built.shared();
        let nodes = machine.fabric().node_count();
        let cycle_us = machine.clock().cycle_us();
        Ok(Arc::new(Point {
            jobs: Measured::new(&work.jobs, nodes, cycle_us)?,
            transfer: work.transfer,
            machine,
        }))
    }

    fn summary(built: &Built) -> SciSummary {
        figures::summary(built.machine())
    }

    fn measures(work: &JobsOnRings) -> Vec<String> {
        jobs::names(&work.jobs)
    }
}

#[derive(Debug)]
struct Point {
    machine: Arc<Machine>,
    transfer: Transfer,
    jobs: Measured,
}

impl Subject for Point {
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated> {
        let machine = Arc::clone(&self.machine);
        let Measured {
            traffic, layout, ..
        } = &self.jobs;
        let nodes = machine.fabric().node_count();
        Box::new(Running {
            simulation: JobsSimulation::new(
                machine,
                self.transfer,
                traffic,
                layout,
                seed,
                replication,
            ),
            ears: self.jobs.ears(nodes),
            cycle_us: self.cycle_us(),
        })
    }

    fn cycle_us(&self) -> f64 {
        self.machine.clock().cycle_us()
    }

    /// Any run: closed loops fill no delays of their own.
    fn cycles_min(&self) -> Cycles {
        0
    }

    fn senders(&self) -> u64 {
        self.machine.fabric().live_nodes().len() as u64
    }

    fn measures(&self) -> &[String] {
        self.jobs.measures()
    }

    fn occurs(&self, measure: usize) -> bool {
        self.jobs.occurs(measure)
    }

    fn flows(&self) -> &[FlowInfo] {
        self.jobs.flows()
    }

    fn limits_itself(&self) -> bool {
        self.jobs.limits_itself()
    }

    fn rates(&self) -> Vec<RateInfo> {
        self.jobs.rates()
    }

    fn load(&self) -> Option<f64> {
        self.jobs.load()
    }

    fn period(&self) -> Cycles {
        self.jobs.period()
    }

    fn period_messages(&self) -> u64 {
        self.jobs.period_messages()
    }

    fn capacity(&self) -> Capacity {
        capacity::capacity(&self.machine, self.transfer, &self.jobs)
    }

    /// The model knows no jobs.
    fn overlay(&self) -> Overlay {
        Overlay::default()
    }

    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        figures::uses(counted, &self.machine, None, overlay)
    }

    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse> {
        jobs::nodes(counted, self.jobs.mb_per_s())
    }

    fn jobs(&self) -> Vec<JobSummary> {
        self.jobs.jobs()
    }

    fn servers(&self) -> Vec<u32> {
        self.jobs.servers()
    }
}

struct Running {
    simulation: JobsSimulation,
    ears: Ears,
    cycle_us: f64,
}

impl Simulated for Running {
    fn run(&mut self, recorders: &mut Recorders, until: Cycles) -> bool {
        let mut seen = self.ears.with(recorders);
        let left = self.simulation.run_until(&mut seen, until);
        left || seen.finished()
    }

    fn now(&self) -> Cycles {
        self.simulation.now()
    }

    fn under_way(&self) -> u64 {
        self.simulation.under_way()
    }

    fn count_channels(&mut self) {
        self.simulation.restart_counts();
        self.ears.restart_counts();
    }

    fn counts(&self) -> Counts {
        let links = self.simulation.links();
        Counts {
            channels: links.flat_map(|link| [link.send, link.echo]).collect(),
            nodes: self.ears.nodes(),
            ..Counts::default()
        }
    }

    fn collapse(&self) -> Option<Collapse> {
        Some(collapse(self.simulation.stall()?, self.cycle_us))
    }
}
