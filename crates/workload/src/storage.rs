//! What stands behind the I/O servers of jobs: plain values, no behaviour.

use isthmus_units::{Bandwidth, Bytes, Time};

/// A disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpec {
    /// Mean seek time; the seek time is uniform between zero and twice this.
    pub seek: Time,
    /// Time of one full rotation; the latency is uniform between zero and this.
    pub rotation: Time,
    /// Transfer rate of the medium; `None`: transfer takes no time of its own.
    pub transfer: Option<Bandwidth>,
}

/// The device behind each I/O server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StorageSpec {
    /// None: what has arrived is stored, and what is asked for is there.
    #[default]
    None,
    /// A disk, first come, first served.
    Disk(DiskSpec),
    /// The same behind a cache.
    Cache {
        /// Access time of the cache.
        access: Time,
        /// Probability that a request ends there, 0 to 1.
        hit_rate: f64,
        /// The disk behind it.
        disk: DiskSpec,
        /// Whether misses queue for the disk; if not, its access time is a pure delay.
        queued: bool,
    },
    /// An array of disks, over which each request is striped.
    Array {
        /// How many.
        disks: u32,
        /// Data on one disk before the next has its turn.
        unit: Bytes,
        /// Units of parity beside the data in each row of as many units as there are disks; fewer than
        /// these.
        parity: u32,
        /// Each of them.
        disk: DiskSpec,
    },
    /// A fast buffer that drains into something slower.
    BurstBuffer {
        /// What it holds.
        capacity: Bytes,
        /// How fast it takes data in and gives them back.
        absorb: Bandwidth,
        /// How fast data go to what is behind it, or come from there; no more than `absorb`.
        drain: Bandwidth,
    },
}

impl StorageSpec {
    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        *self != Self::None
    }
}
