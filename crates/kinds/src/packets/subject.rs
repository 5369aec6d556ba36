//! Networks of packets with the jobs that run on them, as subjects of experiments.

use super::behind::{self, Devices};
use super::{Fabric, capacity, figures};
use crate::jobs::{self, Ears, Measured};
use isthmus_experiment::Flaw;
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::recorders::Recorders;
use isthmus_experiment::result::{Collapse, JobSummary, NodeUse};
use isthmus_experiment::subject::{
    Counted, Counts, FlowInfo, Overlay, RateInfo, Simulated, Subject, Taken,
};
use isthmus_experiment::uses::Uses;
use isthmus_kernel::Cycles;
use isthmus_machine::packets::ways::Ways;
use isthmus_machine::packets::{EngineError as Error, NetworkError, Observer, Simulation};
use isthmus_workload::jobs::spec::JobsTraffic;
use std::sync::Arc;

/// A machine with the jobs of `traffic`.
///
/// # Errors
/// Jobs or servers that do not lie on it.
pub fn subject<F: Fabric>(
    fabric: &Arc<F>,
    traffic: &JobsTraffic,
) -> Result<Arc<dyn Subject>, Flaw> {
    let (nodes, tick_us) = (fabric.node_count(), fabric.network().tick_us());
    Ok(Arc::new(Point {
        jobs: Measured::new(traffic, nodes, tick_us)?,
        fabric: Arc::clone(fabric),
    }))
}

/// The field behind an error of links, switches or interfaces, and what would be right.
pub fn flaw(error: &NetworkError) -> Flaw {
    let (field, hint) = match error {
        NetworkError::Bandwidth(_) => (
            "machine.bandwidth",
            "give one at which a byte takes whole picoseconds, such as 400 MB/s or 12.5 GB/s",
        ),
        NetworkError::Engine(Error::SharedOutputs { .. }) => (
            "machine.output_buffer",
            "leave it out, or choose routes of one layer",
        ),
        NetworkError::Delay { .. } => ("machine.delay", "give shorter links"),
        NetworkError::Engine(_) | NetworkError::TooLong(_) => ("machine", "choose other values"),
    };
    Flaw {
        field,
        problem: error.to_string(),
        hint: hint.to_owned(),
        line: None,
    }
}

#[derive(Debug)]
struct Point<F> {
    fabric: Arc<F>,
    jobs: Measured,
}

impl<F: Fabric> Subject for Point<F> {
    fn begin(&self, seed: u64, replication: u64) -> Box<dyn Simulated> {
        let simulation = Simulation::new(
            self.fabric.network(),
            self.fabric.ways(),
            &self.jobs.traffic,
            &self.jobs.layout,
            seed,
            replication,
        );
        Box::new(Running {
            simulation: simulation.expect("a node has fewer jobs than its interface has queues"),
            ears: self.jobs.ears(self.fabric.node_count()),
        })
    }

    fn cycle_us(&self) -> f64 {
        self.fabric.network().tick_us()
    }

    /// Any run: closed loops fill no delays of their own. With devices one of several of their requests.
    fn cycles_min(&self) -> Cycles {
        let (traffic, layout) = (&self.jobs.traffic, &self.jobs.layout);
        let devices = Devices::of(self.fabric.network(), &traffic.storage);
        devices.map_or(0, |devices| devices.ticks_min(traffic, layout))
    }

    /// One in which what fills at first is full.
    fn cycles_wanted(&self) -> Cycles {
        let (traffic, layout) = (&self.jobs.traffic, &self.jobs.layout);
        let devices = Devices::of(self.fabric.network(), &traffic.storage);
        devices.map_or(0, |devices| devices.ticks_wanted(traffic, layout))
    }

    fn senders(&self) -> u64 {
        self.fabric.node_count().into()
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
        capacity::capacity(&*self.fabric, &self.jobs.traffic, &self.jobs.layout)
    }

    /// Of devices the closed forms of networks know nothing.
    fn overlay(&self) -> Overlay {
        if self.jobs.is_stored_behind() {
            return Overlay::default();
        }
        (self.fabric).overlay(&self.jobs.traffic, &self.jobs.layout)
    }

    fn uses(&self, counted: &[Counted], overlay: &Overlay) -> Uses {
        let jobs = &self.jobs;
        let storage = &jobs.traffic.storage;
        figures::uses(
            counted,
            &*self.fabric,
            &jobs.layout.servers,
            storage,
            overlay,
        )
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

struct Running<W: Ways> {
    simulation: Simulation<W>,
    ears: Ears,
}

impl<W: Ways + Send + Sync + 'static> Simulated for Running<W> {
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
        let counters = self.simulation.counted();
        let taken = |cycles: &[u64], times: &[u64]| -> Vec<Taken> {
            let each = cycles.iter().zip(times);
            each.map(|(&cycles, &times)| Taken {
                cycles,
                times,
                asked: cycles,
            })
            .collect()
        };
        let mut devices = taken(&counters.dma, &counters.sent);
        devices.extend(behind::counts(self.simulation.counted_behind()));
        Counts {
            held: taken(&counters.held, &counters.packets),
            devices,
            channels: counters.busy,
            held_cycles: None,
            nodes: self.ears.nodes(),
        }
    }

    /// Ways close no cycle of channels: kinds have none that do.
    fn collapse(&self) -> Option<Collapse> {
        None
    }
}
