//! Storage devices behind I/O servers: disks, arrays of disks, caches and burst buffers.

use crate::array::{Array, Striping};
use crate::burst_buffer::{BurstBuffer, BurstTimes};
use crate::queue::Queue;
use crate::request::{Access, Request};
use crate::{Busy, Disk, IoNode, IoNodeTimes};
use isthmus_kernel::{Chance, Cycles, Stream};

/// Kind and parameters of a storage device. Times are in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Model {
    /// A single disk without a cache.
    Disk(Disk),
    /// A disk behind a cache, as in an [`IoNode`]. A hit takes the access time of the cache, for reads and for writes.
    /// A miss takes the access time of the cache and then that of the disk.
    Cache {
        /// Access time of the cache, in cycles.
        access: Cycles,
        /// Probability of a cache hit.
        hit: f64,
        /// Disk behind the cache.
        disk: Disk,
        /// Whether misses queue for the disk. Otherwise the access time of the disk is a pure delay.
        queued: bool,
    },
    /// An array of disks over which each request is striped.
    Array {
        /// Layout of data on the disks.
        striping: Striping,
        /// Parameters of each disk.
        disk: Disk,
    },
    /// A fast buffer that drains to slower storage.
    BurstBuffer(BurstTimes),
}

/// State of a storage device. It serves requests in the order of the calls, also within one cycle.
///
/// The caller must pass requests in the order of their times. A returned completion time is final: later requests do
/// not change it.
///
/// ```
/// use isthmus_device::{Access, Disk, Model, Request, Storage};
/// use isthmus_kernel::Streams;
///
/// let disk = Disk { seek: 0.0, rotation: 0.0, per_byte: 2.0 };
/// let streams = Streams::new(1, 0);
/// let mut storage = Storage::new(&Model::Disk(disk), |number| streams.stream("disk", number));
/// let request = |time| Request { time, bytes: 50, access: Access::Write, stream: 0 };
/// assert_eq!(storage.serve(&request(10)), 110);
/// // The second request waits for the first.
/// assert_eq!(storage.serve(&request(60)), 210);
/// ```
#[derive(Debug, Clone)]
pub struct Storage(Kind);

/// State of a storage device by its kind.
#[derive(Debug, Clone)]
enum Kind {
    Disk {
        disk: Disk,
        queue: Queue,
        stream: Stream,
    },
    Cache {
        times: IoNodeTimes,
        node: Box<IoNode>,
    },
    Array(Array),
    BurstBuffer(BurstBuffer),
}

impl Storage {
    /// Return an idle device. It uses random stream 0. An array also uses one more stream for each disk, and a burst
    /// buffer uses no random numbers.
    pub fn new(model: &Model, mut stream: impl FnMut(u64) -> Stream) -> Self {
        Self(match *model {
            Model::Disk(disk) => Kind::Disk {
                disk,
                queue: Queue::default(),
                stream: stream(0),
            },
            Model::Cache {
                access,
                hit,
                disk,
                queued,
            } => Kind::Cache {
                times: IoNodeTimes {
                    access,
                    hit: Chance::new(hit),
                    disk,
                    queued,
                },
                node: Box::new(IoNode::new(stream(0))),
            },
            Model::Array { striping, disk } => Kind::Array(Array::new(striping, disk, stream)),
            Model::BurstBuffer(times) => Kind::BurstBuffer(BurstBuffer::new(times)),
        })
    }

    /// Serve a request. Return the time at which its data have been read from the device or written into it.
    pub fn serve(&mut self, request: &Request) -> Cycles {
        match &mut self.0 {
            Kind::Disk {
                disk,
                queue,
                stream,
            } => {
                let access = disk.access(request.bytes, stream);
                queue.serve(request.time, request.time, access)
            }
            Kind::Cache { times, node } => node.serve(times, request.time, request.bytes),
            Kind::Array(array) => array.serve(request),
            Kind::BurstBuffer(buffer) => buffer.serve(request),
        }
    }

    /// Return the busy times of the device's stations, in the order of [`Model::stations`]: its disks, or the
    /// concurrent activities of a burst buffer.
    pub fn busy(&self) -> Vec<&Busy> {
        match &self.0 {
            Kind::Disk { queue, .. } => vec![queue.busy()],
            Kind::Cache { node, .. } => vec![node.disk_busy_times()],
            Kind::Array(array) => array.busy().collect(),
            Kind::BurstBuffer(buffer) => buffer.busy().to_vec(),
        }
    }
}

/// Mean work of a device for a request, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Mean busy time of a station of each kind, in cycles. For an array it is the mean over all
    /// disks.
    pub each: [f64; 4],
    /// Busy time of the station that determines the end of the request. The drain of a burst buffer ends later and does
    /// not count.
    pub held: f64,
    /// Time from the request to its end on an idle device. For an array it is the time of one disk, although the
    /// slowest disk determines the end.
    pub alone: f64,
}

impl Model {
    /// Return the number of stations of a kind that work concurrently, and the number of kinds. The disks of an array
    /// are all of one kind. A burst buffer has four kinds: writes, drain, reads from the buffer, and reads from the
    /// storage behind it.
    pub fn stations(&self) -> (usize, usize) {
        match self {
            Self::Disk(_) | Self::Cache { .. } => (1, 1),
            Self::Array { striping, .. } => (striping.disks as usize, 1),
            Self::BurstBuffer(_) => (1, 4),
        }
    }

    /// Return the mean work of a request of `bytes` bytes for each kind of station. In a burst buffer, all reads are
    /// assumed to come from the storage behind the buffer.
    pub fn work(&self, access: Access, bytes: u64) -> Work {
        let length = bytes as f64;
        let one = |each: f64, alone: f64| Work {
            each: [each, 0.0, 0.0, 0.0],
            held: each,
            alone,
        };
        match *self {
            Self::Disk(disk) => {
                let access = disk.mean_access(bytes);
                one(access, access)
            }
            Self::Cache {
                access,
                hit,
                disk,
                queued,
            } => {
                let missed = (1.0 - hit) * disk.mean_access(bytes);
                one(if queued { missed } else { 0.0 }, access as f64 + missed)
            }
            Self::Array { striping, disk } => {
                let done = striping.array_work(access, bytes);
                let all = done.disks * disk.mean_access(0) + done.bytes * disk.per_byte;
                one(all / f64::from(striping.disks), all / done.disks)
            }
            Self::BurstBuffer(BurstTimes { absorb, drain, .. }) => match access {
                Access::Write => Work {
                    each: [length * absorb, length * drain, 0.0, 0.0],
                    held: length * absorb,
                    alone: length * absorb,
                },
                Access::Read => Work {
                    each: [0.0, 0.0, 0.0, length * drain],
                    held: length * drain,
                    alone: length * drain,
                },
            },
        }
    }
}
