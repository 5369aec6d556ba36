//! Description of the storage devices of I/O servers, as plain values.

use isthmus_units::{Bandwidth, Bytes, Time};

/// A disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpec {
    /// Mean seek time; the seek time is uniform between zero and twice this.
    pub seek: Time,
    /// Time of one full rotation; the latency is uniform between zero and this.
    pub rotation: Time,
    /// Transfer rate of the medium; `None`: the transfer takes no time.
    pub transfer: Option<Bandwidth>,
}

/// The storage device of each I/O server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StorageSpec {
    /// No device: reads and writes take no time at the server.
    #[default]
    None,
    /// A disk, first come, first served.
    Disk(DiskSpec),
    /// A disk with a cache.
    Cache {
        /// Access time of the cache.
        access: Time,
        /// Probability that a request hits the cache, 0 to 1.
        hit_rate: f64,
        /// The disk behind it.
        disk: DiskSpec,
        /// Whether misses queue for the disk; if not, its access time is a pure delay.
        queued: bool,
    },
    /// An array of disks, over which each request is striped.
    Array {
        /// Number of disks.
        disks: u32,
        /// Stripe unit: consecutive data on one disk.
        unit: Bytes,
        /// Parity units in each stripe, which has one unit per disk. Less than the number of disks.
        parity: u32,
        /// Each disk of the array.
        disk: DiskSpec,
    },
    /// A fast buffer that drains into slower storage.
    BurstBuffer {
        /// Capacity of the buffer.
        capacity: Bytes,
        /// Rate at which the buffer accepts and returns data.
        absorb: Bandwidth,
        /// Transfer rate to and from the slower storage; at most `absorb`.
        drain: Bandwidth,
    },
}

impl StorageSpec {
    /// Return whether there is a device.
    pub fn is_some(&self) -> bool {
        *self != Self::None
    }
}
