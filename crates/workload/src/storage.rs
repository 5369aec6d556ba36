//! Description of the storage devices of I/O servers, as plain values.

use isthmus_units::{Bandwidth, Bytes, Time};

/// Access times and transfer rate of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpec {
    /// Mean seek time. The seek time is uniform between zero and twice the mean.
    pub seek: Time,
    /// Time of one full rotation. The rotational latency is uniform between zero and this time.
    pub rotation: Time,
    /// Transfer rate of the medium. `None` means that the transfer takes no time.
    pub transfer: Option<Bandwidth>,
}

/// The storage device of each I/O server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum StorageSpec {
    /// No device: reads and writes take no time at the server.
    #[default]
    None,
    /// A disk that serves requests first come, first served.
    Disk(DiskSpec),
    /// A disk with a cache.
    Cache {
        /// Access time of the cache.
        access: Time,
        /// Probability that a request hits the cache, 0 to 1.
        hit_rate: f64,
        /// The disk behind the cache.
        disk: DiskSpec,
        /// Whether misses queue for the disk. If not, the access time of the disk is a pure delay.
        queued: bool,
    },
    /// An array of disks. Each request is striped over the disks.
    Array {
        /// Number of disks.
        disks: u32,
        /// Stripe unit: number of consecutive bytes on one disk.
        unit: Bytes,
        /// Parity units in each stripe, which has one unit per disk. Less than the number of disks.
        parity: u32,
        /// Parameters of each disk of the array.
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
    /// Return whether the servers have a storage device.
    pub fn is_some(&self) -> bool {
        *self != Self::None
    }
}
