//! Scenario tables of disks, and of the devices behind the I/O servers of jobs, on any kind of machine.

use isthmus_scenario::format::{Describe, Problem, Reason, Settings, Watch, Whole};
use isthmus_units::{Bandwidth, Bytes, Time};
use isthmus_workload::storage::{DiskSpec, StorageSpec};

/// Key of the scenario table that describes the device behind each I/O server.
pub(crate) const DEVICE: &str = "workload.servers.device";

/// Maximum number of disks of a disk array.
const DISKS_MAX: u64 = 1024;

/// Fields of a disk: the tables `[machine.device.disk]` and `[workload.servers.device.disk]`.
#[derive(Describe)]
pub(crate) struct DiskTable {
    /// Mean seek time; with half a rotation the 20 ms of Table 1.
    #[describe(label = "seek time", default = "12 ms")]
    seek: Time,
    /// Time of one full rotation; the latency is uniform between zero and this.
    #[describe(label = "rotation time", default = "16 ms")]
    rotation: Time,
    /// Transfer rate of the medium.
    #[describe(label = "disk transfer", absent = "transfer takes no time of its own")]
    transfer: Option<Bandwidth>,
}

impl DiskTable {
    /// Return the description of the disk that the table sets.
    pub(crate) fn spec(&self) -> DiskSpec {
        DiskSpec {
            seek: self.seek,
            rotation: self.rotation,
            transfer: self.transfer,
        }
    }
}

/// Table `[workload.servers.device]`: the device behind each I/O server.
#[derive(Describe)]
pub(crate) struct StorageTable {
    /// What stands behind each I/O server: nothing, so that what has arrived is stored, and on a hypercube
    /// what machine.device says; a disk; a disk behind a cache; an array of disks; a fast buffer that drains
    /// into something slower. A write is complete when the device has taken it and, but on hypercubes, the
    /// server's answer has come back.
    #[describe(choice, label = "device of an I/O server", default = "none")]
    kind: StorageWord,
}

/// Scenario fields of each kind of device (disk, cache, array, ...); `workload.servers.device.kind` selects one.
#[derive(Describe)]
enum StorageWord {
    None,
    Disk(OnDisk),
    Cache {
        /// Latency for access to cached data, of hits and of misses.
        #[describe(label = "cache access", default = "400 us")]
        access: Time,
        /// Share of requests, reads and writes alike, that end in the cache.
        #[describe(label = "cache hit rate", example = "0.8")]
        cache_hit_rate: f64,
        #[describe(flatten)]
        on: OnDisk,
    },
    Array {
        /// How many disks an array has.
        #[describe(label = "disks of an array", holds = Whole::new(1, DISKS_MAX), example = "8")]
        disks: u32,
        /// Data on one disk before the next has its turn.
        #[describe(label = "stripe unit", default = "64 KiB")]
        stripe_unit: Bytes,
        /// Units of parity that are written with the data of each row of units: 0 as in RAID 0, 1 as in
        /// RAID 5, 2 as in RAID 6.
        #[describe(label = "parity units", holds = Whole::new(0, 2), default = 0)]
        parity: u32,
        #[describe(flatten)]
        on: OnDisk,
    },
    BurstBuffer {
        /// What a burst buffer holds.
        #[describe(label = "burst buffer", example = "\"64 GB\"")]
        capacity: Bytes,
        /// How fast it takes data in while it has room, and gives back what has not drained.
        #[describe(label = "absorb bandwidth", example = "\"2 GB/s\"")]
        absorb: Bandwidth,
        /// How fast it drains, and takes data in when it is full; also how fast reads come from behind
        /// it.
        #[describe(label = "drain bandwidth", example = "\"200 MB/s\"")]
        drain: Bandwidth,
    },
}

/// Scenario fields that all kinds of device with disks share.
#[derive(Describe)]
struct OnDisk {
    #[describe(table)]
    disk: DiskTable,
}

/// Check and return the description of the device behind each I/O server; the key of its table is `path`.
pub(crate) fn storage(
    settings: &Settings,
    table: StorageTable,
    path: &str,
) -> Result<StorageSpec, Problem> {
    Ok(match table.kind {
        StorageWord::None => StorageSpec::None,
        StorageWord::Disk(on) => StorageSpec::Disk(on.disk.spec()),
        StorageWord::Cache {
            access,
            cache_hit_rate: hit_rate,
            on,
        } => StorageSpec::Cache {
            access,
            hit_rate,
            disk: on.disk.spec(),
            queued: true,
        },
        StorageWord::Array { disks, parity, .. } if parity >= disks => {
            let of = if disks == 1 { "1 disk" } else { "2 disks" };
            return Err(settings.problem(
                &format!("{path}.parity"),
                format!("{parity} units of parity leave no place for data on {of}"),
                format!("give at most {}, or more disks", disks - 1),
            ));
        }
        StorageWord::Array {
            disks,
            stripe_unit: unit,
            parity,
            on,
        } => StorageSpec::Array {
            disks,
            unit,
            parity,
            disk: on.disk.spec(),
        },
        StorageWord::BurstBuffer { absorb, drain, .. } if drain > absorb => {
            return Err(settings.problem(
                &format!("{path}.drain"),
                format!("a buffer that drains at {drain} is never filled at {absorb}"),
                format!("give at most {absorb}, or a faster absorb"),
            ));
        }
        StorageWord::BurstBuffer {
            capacity,
            absorb,
            drain,
        } => StorageSpec::BurstBuffer {
            capacity,
            absorb,
            drain,
        },
    })
}

/// Report to `watch` the fields of the device that have no effect because of the values of other fields. The key of
/// the device's table is `path`.
pub(crate) fn watch(watch: &mut Watch<'_>, storage: &StorageSpec, path: &str) {
    let StorageSpec::Cache { hit_rate, .. } = storage else {
        return;
    };
    let rate = format!("{path}.cache_hit_rate");
    let causes = [&*rate];
    for field in ["seek", "rotation", "transfer"] {
        watch.field(
            &format!("{path}.disk.{field}"),
            (*hit_rate >= 1.0).then(|| Reason {
                problem: format!("it has no effect with {rate} = 1: nothing comes from a disk"),
                hint: format!("remove it, or set a lower {rate}"),
                causes: &causes,
            }),
        );
    }
}
