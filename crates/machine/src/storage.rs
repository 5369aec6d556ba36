//! The storage devices of the I/O servers of jobs, for any kind of network.
//!
//! A simulation calls [`JobStores::done`] when the last byte of a write, or the request of a read, arrives at
//! a server. At the returned time the server sends an answer to the client of a write ([`is_answer`]), or
//! the data of a read. The network decides how.

use isthmus_device::{Storage, Striping};
use isthmus_kernel::{Cycles, Streams};
use isthmus_units::{Bandwidth, Time};
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, Layout, Operation};
use isthmus_workload::storage::{DiskSpec, StorageSpec};

pub use isthmus_device::{Access, BurstTimes, Disk, Model, Request, Work};

/// Return the simulation model of the storage device that `spec` describes, for cycles of `cycle_us`
/// microseconds. Return `None` if `spec` describes no device.
pub fn model(spec: &StorageSpec, cycle_us: f64) -> Option<Model> {
    let cycles = |time: Time| time.us() / cycle_us;
    let per_byte = |rate: Bandwidth| 8e6 / rate.bits_per_s() as f64 / cycle_us;
    let disk = |spec: DiskSpec| Disk {
        seek: cycles(spec.seek),
        rotation: cycles(spec.rotation),
        per_byte: spec.transfer.map_or(0.0, per_byte),
    };
    Some(match *spec {
        StorageSpec::None => return None,
        StorageSpec::Disk(spec) => Model::Disk(disk(spec)),
        StorageSpec::Cache {
            access,
            hit_rate: hit,
            disk: behind,
            queued,
        } => Model::Cache {
            access: cycles(access).round() as Cycles,
            hit,
            disk: disk(behind),
            queued,
        },
        StorageSpec::Array {
            disks,
            unit,
            parity,
            disk: each,
        } => Model::Array {
            striping: Striping {
                disks,
                unit: unit.get(),
                parity,
            },
            disk: disk(each),
        },
        StorageSpec::BurstBuffer {
            capacity,
            absorb,
            drain,
        } => Model::BurstBuffer(BurstTimes {
            capacity: capacity.get(),
            absorb: per_byte(absorb),
            drain: per_byte(drain),
        }),
    })
}

/// Counters of all stations of one kind in a storage device, such as its disks: busy time, accesses, service
/// time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StationCount {
    /// Busy cycles, summed over all stations of this kind.
    pub cycles: u64,
    /// Number of accesses to the stations.
    pub times: u64,
    /// Service time of the accesses in cycles, including the part in the future.
    pub asked: u64,
}

/// The storage devices of the I/O servers of jobs.
#[derive(Debug, Clone)]
pub struct JobStores {
    stores: Stores,
    /// For each job, whether it reads from the storage devices or writes to them.
    stored: Vec<bool>,
}

impl JobStores {
    /// Return idle devices for the servers of `layout`, on a machine of `nodes` nodes with cycles of `cycle_us`
    /// microseconds, or `None` if servers have no devices.
    pub fn new(
        traffic: &JobsTraffic,
        layout: &Layout,
        cycle_us: f64,
        nodes: u32,
        streams: Streams,
    ) -> Option<Self> {
        let model = model(&traffic.storage, cycle_us)?;
        let servers = &layout.servers;
        let jobs = traffic.jobs.iter();
        Some(Self {
            stores: Stores::new(&model, servers, nodes, streams),
            stored: jobs.map(|job| job.traffic.stores_on(servers)).collect(),
        })
    }

    /// Return whether a message of a job is served by a storage device.
    pub fn serve(&self, demand: &Demand) -> bool {
        self.stored[demand.job as usize]
    }

    /// Return the time at which the device completes a write or a read whose data or request arrives at
    /// `time`. Return `None` if the demand uses no device. Calls must be in the order of times.
    pub fn done(&mut self, time: Cycles, demand: &Demand) -> Option<Cycles> {
        if !self.serve(demand) {
            return None;
        }
        let request = Request {
            time,
            bytes: demand.bytes,
            access: match demand.operation {
                Operation::Write => Access::Write,
                Operation::Read => Access::Read,
            },
            stream: demand.process,
        };
        self.stores.serve(demand.to, &request)
    }

    /// Reset the counters at `now`.
    pub fn restart_counts(&mut self, now: Cycles) {
        self.stores.restart_counts(now);
    }

    /// Return the counts since [`restart_counts`](Self::restart_counts), ordered by server, then by kind of
    /// station.
    pub fn counted(&self, now: Cycles) -> Vec<StationCount> {
        self.stores.counted(now)
    }
}

/// Return whether a message that node `from` sends for a demand is a server's answer to a write: the client
/// sends the data, the server the answer.
#[inline]
pub fn is_answer(from: u32, demand: &Demand) -> bool {
    demand.operation == Operation::Write && from != demand.from
}

/// The storage devices of all servers.
///
/// The device of server number s, in the order of the list of servers, uses its own random streams. These do
/// not depend on the server's node.
#[derive(Debug, Clone)]
struct Stores {
    /// For each node, the number of the server on it; `None` for nodes that are not servers.
    server_of: Vec<Option<u32>>,
    stores: Vec<Storage>,
    /// Number of stations (such as disks) of each kind in a device, and number of kinds.
    stations: (usize, usize),
    /// Counts of the stations (such as disks) of all servers at the last reset, ordered by server,
    /// then by kind of station.
    before: Vec<StationCount>,
}

impl Stores {
    /// Return idle devices for these servers on a machine of `nodes` nodes.
    fn new(model: &Model, servers: &[u32], nodes: u32, streams: Streams) -> Self {
        let mut server_of = vec![None; nodes as usize];
        for (number, &node) in (0..).zip(servers) {
            server_of[node as usize] = Some(number);
        }
        let stores: Vec<Storage> = (0..servers.len())
            .map(|server| {
                let name = format!("device {server}");
                Storage::new(model, |number| streams.stream(&name, number))
            })
            .collect();
        let stations = model.stations();
        Self {
            before: vec![StationCount::default(); stores.len() * stations.1],
            server_of,
            stores,
            stations,
        }
    }

    /// Return the time at which the device of a node has served a request, or `None` without a device.
    fn serve(&mut self, node: u32, request: &Request) -> Option<Cycles> {
        let server = self.server_of[node as usize]?;
        Some(self.stores[server as usize].serve(request))
    }

    /// Reset the counters at `now`.
    fn restart_counts(&mut self, now: Cycles) {
        self.before = self.totals(now);
    }

    /// Return the counts since [`restart_counts`](Self::restart_counts), ordered by server, then by kind of
    /// station.
    fn counted(&self, now: Cycles) -> Vec<StationCount> {
        let totals = self.totals(now).into_iter().zip(&self.before);
        totals
            .map(|(total, before)| StationCount {
                cycles: total.cycles - before.cycles,
                times: total.times - before.times,
                asked: total.asked - before.asked,
            })
            .collect()
    }

    /// Return the counts from the start of the simulation up to `now`, ordered by server, then by kind of
    /// station.
    fn totals(&self, now: Cycles) -> Vec<StationCount> {
        let mut totals = Vec::with_capacity(self.before.len());
        for store in &self.stores {
            for of_kind in store.busy().chunks(self.stations.0) {
                let mut total = StationCount::default();
                for busy in of_kind {
                    total.cycles += busy.cycles_by(now);
                    total.times += busy.uses();
                    total.asked = total.asked.saturating_add(busy.total_cycles());
                }
                totals.push(total);
            }
        }
        totals
    }
}
