//! Simulations of jobs on packet networks, with the traits through which experiments start and measure them.

use super::{Fabric, Route, capacity, figures, rules};
use crate::jobs::behind;
use crate::jobs::capacity::PredictableJob;
use crate::jobs::{self, Measured, Running, Runs, ns};
use isthmus_experiment::Flaw;
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::subject::{Counted, Counts, Occupancy, Overlay, Simulated, Subject};
use isthmus_experiment::uses::Uses;
use isthmus_machine::jobs::Replication as _;
use isthmus_machine::packets::routes::Routes;
use isthmus_machine::packets::{EngineError as Error, NetworkError, Simulation};
use isthmus_workload::jobs::spec::{JobsTraffic, Serve};
use std::sync::Arc;

/// Return the jobs of `traffic` on a network, as the object through which experiments simulate and measure them.
///
/// # Errors
/// If jobs or servers do not fit on the network.
pub fn subject<F: Fabric>(
    fabric: &Arc<F>,
    traffic: &JobsTraffic,
) -> Result<Arc<dyn Subject>, Flaw> {
    jobs::subject(NetworkForJobs(Arc::clone(fabric)), traffic)
}

/// Convert an error in the settings of links, switches or interfaces to an error of the scenario field that causes it.
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

/// A packet network on which simulations of jobs are started.
#[derive(Debug)]
struct NetworkForJobs<F>(Arc<F>);

impl<F: Fabric> Runs for NetworkForJobs<F> {
    /// Start a simulation at cycle 0; `seed` and `replication` determine its random numbers.
    fn begin(&self, jobs: &Measured, seed: u64, replication: u64) -> Box<dyn Simulated> {
        let simulation = Simulation::new(
            self.0.network(),
            self.0.routes(),
            &jobs.traffic,
            &jobs.layout,
            seed,
            replication,
        );
        Box::new(Running {
            simulation: simulation.expect("a node has fewer jobs than its interface has queues"),
            observer: jobs.observer_state(self.node_count()),
            counts,
            collapse: jobs::never,
        })
    }

    /// Return the length of a simulated cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        self.0.network().tick_us()
    }

    /// Return the number of nodes.
    fn node_count(&self) -> u32 {
        self.0.node_count()
    }

    /// Return the time in ns that a message of a job takes if the network is idle otherwise.
    fn alone_ns(&self, _: &Measured, asks: &PredictableJob<'_>) -> f64 {
        let (network, switches) = (self.0.network().spec(), self.0.switches_at_most());
        let rules = rules(network, self.0.routes().classes());
        let route = Route {
            switches: f64::from(switches),
            delay: 0.0,
        };
        let times = asks.message.times(network, &rules, route);
        times.transfer + times.turn + f64::from(switches) * ns(self.0.longest_delay())
    }

    /// Return the demand of the jobs on each part of the packet network, and the capacity of the part.
    fn capacity(&self, jobs: &Measured) -> Capacity {
        let devices = self.devices(jobs);
        capacity::capacity(&*self.0, &jobs.traffic, &jobs.layout, devices.as_ref())
    }

    /// Return the results of the analytic model for this point of a sweep.
    fn overlay(&self, jobs: &Measured) -> Overlay {
        if jobs.is_stored_behind() {
            return Overlay::absent("there are devices behind servers");
        }
        if jobs.traffic.serve == Serve::One {
            return Overlay::absent("servers work on one request at a time");
        }
        self.0.overlay(&jobs.traffic, &jobs.layout)
    }

    /// Return the utilisation of the parts of the packet network, and the bottleneck among them.
    fn uses(&self, jobs: &Measured, counted: &[Counted], overlay: &Overlay) -> Uses {
        figures::uses(counted, &*self.0, &jobs.traffic, &jobs.layout, overlay)
    }
}

/// Return the counters of the links, network interfaces and storage devices in a simulation.
fn counts<W: Routes>(simulation: &Simulation<W>) -> Counts {
    let counters = simulation.counted();
    let occupancies = |cycles: &[u64], times: &[u64]| -> Vec<Occupancy> {
        let each = cycles.iter().zip(times);
        each.map(|(&cycles, &times)| Occupancy {
            cycles,
            times,
            asked: cycles,
        })
        .collect()
    };
    let mut devices = occupancies(&counters.dma, &counters.sent);
    devices.extend(behind::counts(simulation.counted_behind()));
    Counts {
        held: occupancies(&counters.held, &counters.packets),
        devices,
        channels: counters.busy,
        held_cycles: None,
        nodes: Vec::new(),
    }
}
