//! What stands behind an I/O server: one of several kinds of device.

use crate::array::{Array, Striping};
use crate::burst_buffer::{BurstBuffer, BurstTimes};
use crate::queue::Queue;
use crate::request::{Access, Request};
use crate::{Busy, Disk, IoNode, IoNodeTimes};
use isthmus_kernel::{Chance, Cycles, Stream};

/// What a device is like, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Model {
    /// A disk.
    Disk(Disk),
    /// A disk behind a cache, as in an [`IoNode`]: a hit takes the access time, reads and writes alike,
    /// and a miss the disk after it.
    Cache {
        /// Access time of the cache.
        access: Cycles,
        /// Probability that a request ends there.
        hit: f64,
        /// The disk behind it.
        disk: Disk,
        /// Whether misses queue for the disk; if not, its access time is a pure delay.
        queued: bool,
    },
    /// An array of disks.
    Array {
        /// How data lie on them.
        striping: Striping,
        /// Each of them.
        disk: Disk,
    },
    /// A fast buffer that drains.
    BurstBuffer(BurstTimes),
}

/// A device. It serves requests in the order of the calls, also those of one cycle.
///
/// Calling contract: requests come in the order of their times. An answer is final: later requests do
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
/// // The second waits for the first.
/// assert_eq!(storage.serve(&request(60)), 210);
/// ```
#[derive(Debug, Clone)]
pub struct Storage(Kind);

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
    /// An idle device, which draws from the streams of these numbers: one, or one for each disk of an
    /// array and one more. A burst buffer draws nothing.
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

    /// Serves a request. Answers when it is done: what is read is there, what is written is taken.
    pub fn serve(&mut self, request: &Request) -> Cycles {
        match &mut self.0 {
            Kind::Disk {
                disk,
                queue,
                stream,
            } => {
                let access = disk.access(request.bytes, stream);
                queue.take(request.time, request.time, access)
            }
            Kind::Cache { times, node } => node.serve(times, request.time, request.bytes),
            Kind::Array(array) => array.serve(request),
            Kind::BurstBuffer(buffer) => buffer.serve(request),
        }
    }

    /// For how long its stations work, in the order of [`Model::stations`]: its disks, or what a burst
    /// buffer does at the same time.
    pub fn busy(&self) -> Vec<&Busy> {
        match &self.0 {
            Kind::Disk { queue, .. } => vec![queue.busy()],
            Kind::Cache { node, .. } => vec![node.disk()],
            Kind::Array(array) => array.busy().collect(),
            Kind::BurstBuffer(buffer) => buffer.busy().to_vec(),
        }
    }
}

/// What a request takes of a device on average, in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// For how long it takes a station of each kind: of an array the mean of all disks.
    pub each: [f64; 4],
    /// For how long it takes the station that it is done after; a burst buffer drains later.
    pub held: f64,
    /// From the request to its end on an idle device; of an array what one of its disks takes, of which
    /// the slowest counts.
    pub alone: f64,
}

impl Model {
    /// Stations that work at the same time: how many of a kind, and how many kinds. Disks of an array are
    /// of one kind, what a burst buffer does is of four: taking in, draining, giving back, fetching
    /// from behind.
    pub fn stations(&self) -> (usize, usize) {
        match self {
            Self::Disk(_) | Self::Cache { .. } => (1, 1),
            Self::Array { striping, .. } => (striping.disks as usize, 1),
            Self::BurstBuffer(_) => (1, 4),
        }
    }

    /// What a request of so many bytes takes of each kind of station on average. Reads of a burst
    /// buffer come from behind.
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
                let done = striping.done(access, bytes);
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
