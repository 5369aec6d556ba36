//! Simulations of jobs on hypercubes, as experiments start and measure them.

use super::super::{Built, Hypercube, HypercubeSummary, figures};
use super::{HypercubeJobs, capacity, workload};
use crate::jobs::behind::{self, Devices};
use crate::jobs::capacity::PredictableJob;
use crate::jobs::{self, Measured, Running, Runs};
use isthmus_experiment::capacity::Capacity;
use isthmus_experiment::subject::{Counted, Counts, Overlay, Simulated, Subject};
use isthmus_experiment::uses::Uses;
use isthmus_experiment::{Flaw, Kind};
use isthmus_machine::hypercube::spec::{HypercubeSpec, JobsOnCube, Transfer};
use isthmus_machine::hypercube::{JobsSimulation, Machine};
use isthmus_machine::jobs::Replication as _;
use isthmus_units::Bytes;
use isthmus_workload::jobs::spec::{JobsTraffic, Servers};
use isthmus_workload::storage::StorageSpec;
use std::sync::Arc;

impl Kind for HypercubeJobs {
    /// Hypercube that is ready to be simulated.
    type Built = Built;
    /// Properties of the hypercube, as the results list them.
    type Summary = HypercubeSummary;

    /// Build the hypercube that a scenario describes.
    fn build(spec: &HypercubeSpec) -> Result<Built, Flaw> {
        Hypercube::build(spec)
    }

    /// Combine the hypercube with the jobs to a point of a sweep, which experiments simulate and measure.
    fn subject(built: &Built, work: &JobsOnCube) -> Result<Arc<dyn Subject>, Flaw> {
        let traffic = JobsTraffic {
            servers: Servers::Apart {
                count: built.machine.placement().io_node_count(),
            },
            storage: match work.jobs.storage {
                StorageSpec::None => workload::default_storage(&built.spec.device),
                given => given,
            },
            ..work.jobs.clone()
        };
        let (built, transfer) = (built.clone(), work.transfer);
        jobs::subject(CubeForJobs { built, transfer }, &traffic)
    }

    /// Return the properties of the hypercube, as the results list them.
    fn summary(built: &Built) -> HypercubeSummary {
        Hypercube::summary(built)
    }

    /// Return the names of all latencies that are measured under this workload.
    fn measures(work: &JobsOnCube) -> Vec<String> {
        jobs::names(&work.jobs)
    }
}

/// A hypercube as a machine on which jobs run, with the rule that splits their messages into worms
/// (messages of the wormhole network).
#[derive(Debug)]
struct CubeForJobs {
    built: Built,
    transfer: Transfer,
}

impl CubeForJobs {
    /// Return the hypercube on which the jobs run.
    fn machine(&self) -> &Machine {
        &self.built.machine
    }
}

impl Runs for CubeForJobs {
    /// Start a simulation at cycle 0; `seed` and `replication` determine its random numbers.
    fn begin(&self, jobs: &Measured, seed: u64, replication: u64) -> Box<dyn Simulated> {
        Box::new(Running {
            simulation: JobsSimulation::new(
                Arc::clone(&self.built.machine),
                self.transfer,
                &jobs.traffic,
                &jobs.layout,
                seed,
                replication,
            ),
            observer: jobs.observer_state(self.node_count()),
            counts,
            collapse: jobs::never,
        })
    }

    /// Return the length of a simulated cycle in microseconds.
    fn cycle_us(&self) -> f64 {
        self.machine().clock().cycle_us()
    }

    /// Return the number of PEs.
    fn node_count(&self) -> u32 {
        self.machine().cube().node_count()
    }

    /// Return the number of PEs that send messages.
    fn senders(&self) -> u64 {
        self.machine().working_pes().into()
    }

    /// Return the storage devices behind the I/O nodes, which receive one request for each transfer
    /// unit; `None` if I/O nodes have no devices.
    fn devices(&self, jobs: &Measured) -> Option<Devices> {
        let devices = Devices::of(self.cycle_us(), &jobs.traffic.storage)?;
        Some(devices.split_requests(self.transfer.unit, self.transfer.worms))
    }

    /// Return the time of a read from a remote I/O node on an idle machine, in ns: three worms
    /// (messages of the wormhole network), each with its start-up, for each round of transfer
    /// units. One more worm is needed if the PE of a failed I/O node forwards the request.
    fn alone_ns(&self, _: &Measured, asks: &PredictableJob<'_>) -> f64 {
        let machine = self.machine();
        let (unit, message) = (self.transfer.unit.get(), &asks.message);
        let worms = 3 + u64::from(machine.redirects());
        let rounds = message.packets(unit as f64) / f64::from(self.transfer.worms);
        let data = Bytes::new((message.bytes as u64).min(unit));
        let worm = machine.startup() + u64::from(machine.clock().flits(data));
        rounds.max(1.0) * (worms * worm) as f64 * self.cycle_us() * 1e3
    }

    /// Return the capacity figures of the hypercube: for each part, the demand of the jobs and its
    /// maximum throughput (supply).
    fn capacity(&self, jobs: &Measured) -> Capacity {
        let devices = self.devices(jobs);
        capacity::capacity(&self.built, self.transfer, jobs, devices.as_ref())
    }

    /// Return the utilisation of the parts of the hypercube, and the bottleneck among them.
    fn uses(&self, jobs: &Measured, counted: &[Counted], overlay: &Overlay) -> Uses {
        let storage = &jobs.traffic.storage;
        let devices = match storage {
            // A pure delay never saturates, nor does a disk without requests.
            StorageSpec::Cache { queued: false, .. } => Vec::new(),
            StorageSpec::Cache { hit_rate, .. } if *hit_rate >= 1.0 => Vec::new(),
            _ => {
                let io_nodes: Vec<u32> = (0..self.machine().placement().io_node_count()).collect();
                behind::parts(counted, 0, &io_nodes, self.cycle_us(), storage)
            }
        };
        figures::uses_of(figures::channels(counted, self.machine()), devices, overlay)
    }

    /// Return the numbers of the PEs with an I/O node; these are the servers of the jobs.
    fn servers(&self, _jobs: &Measured) -> Vec<u32> {
        self.machine().placement().io_nodes().to_vec()
    }
}

/// Return the counts of the use of channels and devices by a simulation.
fn counts(simulation: &JobsSimulation) -> Counts {
    let carried = simulation.carried();
    let (held, cycles) = simulation.held();
    Counts {
        channels: carried.iter().map(|carried| carried.flits).collect(),
        held: figures::held(&held, carried.iter().map(|carried| carried.messages)),
        devices: behind::counts(simulation.counted_behind()),
        held_cycles: Some(cycles),
        nodes: Vec::new(),
    }
}
