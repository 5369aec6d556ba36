//! The devices behind the I/O servers of jobs, whatever network these are on.
//!
//! A simulation asks [`JobStores::done`] when the last byte of a write has arrived at a server, and when
//! the request of a read has. At the returned time the server answers the client of a write by a
//! message of its own ([`is_answer`]), or sends the data of a read. The network decides how.

use isthmus_device::{Storage, Striping};
use isthmus_kernel::{Cycles, Streams};
use isthmus_units::{Bandwidth, Time};
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, Layout, Operation};
use isthmus_workload::storage::{DiskSpec, StorageSpec};

pub use isthmus_device::{Access, BurstTimes, Disk, Model, Request, Work};

/// What the device of a description is like where a cycle takes so many microseconds; `None` if there is
/// none.
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

/// What the stations of one kind of a device have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StationCount {
    /// Cycles for which they were taken, all together.
    pub cycles: u64,
    /// How often.
    pub times: u64,
    /// Cycles that these take, those to come included.
    pub asked: u64,
}

/// The devices behind the I/O servers of jobs.
#[derive(Debug, Clone)]
pub struct JobStores {
    stores: Stores,
    /// By job whether it writes to them and reads from them.
    stored: Vec<bool>,
}

impl JobStores {
    /// Idle devices behind the servers of `layout`, on a machine of so many nodes whose cycles take so many
    /// microseconds; `None` where nothing stands behind servers.
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

    /// Whether what a demand writes goes to them, or what it reads comes from there.
    pub fn serve(&self, demand: &Demand) -> bool {
        self.stored[demand.job as usize]
    }

    /// Return when the device is done with the data of a write or the request of a read that arrived at `time`.
    /// Return `None` if no device is concerned. Calls must be in the order of times.
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

    /// Counts from `now` on.
    pub fn restart_counts(&mut self, now: Cycles) {
        self.stores.restart_counts(now);
    }

    /// What was done from then until `now`: by server, then by kind of station.
    pub fn counted(&self, now: Cycles) -> Vec<StationCount> {
        self.stores.counted(now)
    }
}

/// Whether what goes out of this node for a demand is the answer to a write, whose data go the other way.
#[inline]
pub fn is_answer(from: u32, demand: &Demand) -> bool {
    demand.operation == Operation::Write && from != demand.from
}

/// A device behind each of some nodes.
///
/// That of server number s, counted in the order in which servers are listed, draws from streams of its
/// own, wherever the server is.
#[derive(Debug, Clone)]
struct Stores {
    /// By node the number of its server.
    of_node: Vec<Option<u32>>,
    stores: Vec<Storage>,
    /// Stations of a kind, and kinds.
    stations: (usize, usize),
    /// By server and kind of station, what was counted when counting began.
    before: Vec<StationCount>,
}

impl Stores {
    /// Idle devices behind these servers of a machine of so many nodes.
    fn new(model: &Model, servers: &[u32], nodes: u32, streams: Streams) -> Self {
        let mut of_node = vec![None; nodes as usize];
        for (number, &node) in (0..).zip(servers) {
            of_node[node as usize] = Some(number);
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
            of_node,
            stores,
            stations,
        }
    }

    /// When the device behind a node is done with a request; `None` where there is none.
    fn serve(&mut self, node: u32, request: &Request) -> Option<Cycles> {
        let server = self.of_node[node as usize]?;
        Some(self.stores[server as usize].serve(request))
    }

    /// Counts from `now` on.
    fn restart_counts(&mut self, now: Cycles) {
        self.before = self.totals(now);
    }

    /// What was done from then until `now`: by server, then by kind of station.
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
