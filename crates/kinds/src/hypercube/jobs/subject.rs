//! Hypercubes with the jobs that run on them, as subjects of experiments.

use super::super::{Built, Hypercube, HypercubeSummary, figures};
use super::{HypercubeJobs, capacity};
use crate::jobs::behind::{self, Devices};
use crate::jobs::{self, Ears, Measured};
use crate::packets::Message;
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, JobSummary, NodeUse};
use isthmus_experiment::subject::{
    Counted, Counts, FlowInfo, Overlay, RateInfo, Simulated, Subject, Taken,
};
use isthmus_experiment::uses::Uses;
use isthmus_experiment::{Flaw, Kind};
use isthmus_kernel::Cycles;
use isthmus_machine::hypercube::spec::{HypercubeSpec, JobsOnCube, Transfer};
use isthmus_machine::hypercube::{JobsSimulation, Machine};
use isthmus_machine::jobs::Observer as _;
use isthmus_units::Bytes;
use isthmus_workload::jobs::spec::{JobsTraffic, Servers};
use isthmus_workload::storage::StorageSpec;
use std::sync::Arc;

/// Messages one after another with nothing else about for which a run must last before it is judged. The
/// test compares the two halves of a run, so the filling of all delays must be over well within the first.
const ALONE_MIN: u64 = 5;

impl Kind for HypercubeJobs {
    type Built = Built;
    type Summary = HypercubeSummary;

    fn build(spec: &HypercubeSpec) -> Result<Built, Flaw> {
        Hypercube::build(spec)
    }

    fn subject(built: &Built, work: &JobsOnCube) -> Result<Arc<dyn Subject>, Flaw> {
        let machine = &built.machine;
        let traffic = JobsTraffic {
            servers: Servers::Apart {
                count: machine.placement().io_node_count(),
            },
            ..work.jobs.clone()
        };
        let pes = machine.cube().node_count();
        Ok(Arc::new(Point {
            jobs: Measured::new(&traffic, pes, machine.clock().cycle_us())?,
            transfer: work.transfer,
            built: built.clone(),
        }))
    }

    fn summary(built: &Built) -> HypercubeSummary {
        Hypercube::summary(built)
    }

    fn measures(work: &JobsOnCube) -> Vec<String> {
        jobs::names(&work.jobs)
    }
}

#[derive(Debug)]
struct Point {
    built: Built,
    transfer: Transfer,
    jobs: Measured,
}

impl Point {
    fn machine(&self) -> &Machine {
        &self.built.machine
    }

    fn devices(&self) -> Option<Devices> {
        Devices::of(self.cycle_us(), &self.jobs.traffic.storage)
    }

    /// The longest that a message of a job takes on average with nothing else about, its device aside:
    /// three worms and their start-ups for each round of transfer units.
    fn alone(&self) -> Cycles {
        let machine = self.machine();
        let clock = machine.clock();
        let jobs = self.jobs.traffic.jobs.iter();
        let active = jobs.filter(|job| job.active);
        let unit = self.transfer.unit.get();
        let each = active.filter_map(Message::of).map(|message| {
            let rounds = message.packets(unit as f64) / f64::from(self.transfer.worms);
            let data = Bytes::new((message.bytes as u64).min(unit));
            let worm = machine.startup() + u64::from(clock.flits(data));
            (rounds.max(1.0) * (3 * worm) as f64) as Cycles
        });
        each.max().unwrap_or(0)
    }
}

impl Subject for Point {
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated> {
        let machine = Arc::clone(&self.built.machine);
        let Measured {
            traffic, layout, ..
        } = &self.jobs;
        let pes = machine.cube().node_count();
        Box::new(Running {
            simulation: JobsSimulation::new(
                machine,
                self.transfer,
                traffic,
                layout,
                seed,
                replication,
            ),
            ears: self.jobs.ears(pes),
        })
    }

    fn cycle_us(&self) -> f64 {
        self.machine().clock().cycle_us()
    }

    fn cycles_min(&self) -> Cycles {
        let (traffic, layout) = (&self.jobs.traffic, &self.jobs.layout);
        let devices = self.devices();
        let served = devices.map_or(0, |devices| devices.ticks_min(traffic, layout));
        (ALONE_MIN * self.alone()).saturating_add(served)
    }

    /// One in which what fills at first is full.
    fn cycles_wanted(&self) -> Cycles {
        let (traffic, layout) = (&self.jobs.traffic, &self.jobs.layout);
        let devices = self.devices();
        devices.map_or(0, |devices| devices.ticks_wanted(traffic, layout))
    }

    fn senders(&self) -> u64 {
        self.machine().working_pes().into()
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
        capacity::capacity(
            &self.built,
            self.transfer,
            &self.jobs,
            self.devices().as_ref(),
        )
    }

    /// The model knows no jobs.
    fn overlay(&self) -> Overlay {
        Overlay::default()
    }

    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        let storage = &self.jobs.traffic.storage;
        let channels = figures::channels(counted, self.machine());
        let devices = match storage {
            // A pure delay is never full.
            StorageSpec::Cache { queued: false, .. } => Vec::new(),
            _ => {
                let io_nodes: Vec<u32> = (0..self.machine().placement().io_node_count()).collect();
                behind::parts(counted, 0, &io_nodes, self.cycle_us(), storage)
            }
        };
        figures::told(channels, devices, overlay)
    }

    fn nodes(&self, counted: &[Counted]) -> Vec<NodeUse> {
        jobs::nodes(counted, self.jobs.mb_per_s())
    }

    fn jobs(&self) -> Vec<JobSummary> {
        self.jobs.jobs()
    }

    /// The PEs at which they are.
    fn servers(&self) -> Vec<u32> {
        self.machine().placement().io_nodes().to_vec()
    }
}

struct Running {
    simulation: JobsSimulation,
    ears: Ears,
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
        let carried = self.simulation.carried();
        let (held, cycles) = self.simulation.held();
        let channels = carried.iter().zip(held);
        Counts {
            channels: carried.iter().map(|carried| carried.flits).collect(),
            held: channels
                .map(|(carried, cycles)| Taken {
                    cycles,
                    times: carried.messages,
                    asked: cycles,
                })
                .collect(),
            devices: behind::counts(self.simulation.counted_behind()),
            held_cycles: Some(cycles),
            nodes: self.ears.nodes(),
        }
    }

    /// Routes are proven free of deadlock when a machine is built.
    fn collapse(&self) -> Option<Collapse> {
        None
    }
}
