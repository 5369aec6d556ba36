//! Arrays of disks over which each request is striped.

use crate::queue::Queue;
use crate::request::{Access, Request};
use crate::{Busy, Disk};
use isthmus_kernel::{Cycles, Stream, draw_below};

/// Layout of data on an array of disks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Striping {
    /// Number of disks of the array, 1 or more.
    pub disks: u32,
    /// Number of bytes on one disk before the data continue on the next disk, 1 or more.
    pub unit: u64,
    /// Parity units in each row of units, fewer than the number of disks: 0 is RAID 0, 1 is RAID 5, 2 is RAID 6.
    pub parity: u32,
}

/// State of an array of disks.
///
/// A request is cut into units, which go to the disks in turn, from a random first disk. The last unit may be shorter.
/// A write fills rows of one unit per disk. Each row has `parity` parity units, as long as the longest data unit of the
/// row, which follow its data. Rows that are not written as a whole are not read first.
///
/// Each disk makes one access for all of its units, first come, first served, with its own seek and latency. The
/// request ends when the last disk ends its access.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    striping: Striping,
    disk: Disk,
    first: Stream,
    disks: Vec<(Queue, Stream)>,
}

impl Array {
    /// Return an idle array. `stream` returns random streams by number: the first disk of each request is chosen with
    /// stream 0, and disk i uses stream i + 1.
    pub(crate) fn new(
        striping: Striping,
        disk: Disk,
        mut stream: impl FnMut(u64) -> Stream,
    ) -> Self {
        let disks = 1..=u64::from(striping.disks);
        Self {
            striping,
            disk,
            first: stream(0),
            disks: disks
                .map(|number| (Queue::default(), stream(number)))
                .collect(),
        }
    }

    /// Serve a request and return the time at which the last disk ends its access.
    pub(crate) fn serve(&mut self, request: &Request) -> Cycles {
        let count = self.disks.len();
        let first = draw_below(count as u64, &mut self.first) as usize;
        let share = self.striping.shares(request);
        let mut done = request.time;
        for (at, bytes) in share.into_iter().enumerate() {
            let Some(bytes) = bytes else { break };
            let (queue, stream) = &mut self.disks[(first + at) % count];
            let access = self.disk.access(bytes, stream);
            done = done.max(queue.serve(request.time, request.time, access));
        }
        done
    }

    /// Return the busy times of the disks.
    pub(crate) fn busy(&self) -> impl Iterator<Item = &Busy> {
        self.disks.iter().map(|(queue, _)| queue.busy())
    }
}

impl Striping {
    /// Return the number of bytes of a request on each disk, starting with the first disk used; `None` for a disk
    /// without a part of the request.
    fn shares(&self, request: &Request) -> impl IntoIterator<Item = Option<u64>> + use<> {
        let Self {
            disks,
            unit,
            parity,
        } = *self;
        let (disks, parity) = (u64::from(disks), u64::from(parity));
        let data = request.bytes.div_ceil(unit).max(1);
        let last = request.bytes - (data - 1) * unit;
        let parity = match request.access {
            Access::Write => parity,
            Access::Read => 0,
        };
        let row = disks - parity;
        let rows = data.div_ceil(row);
        let units = data + parity * rows;
        // If the last data unit, which is short, is alone in its row, the parity units of the row are short, too.
        let alone = data == (rows - 1) * row + 1;
        let short_from = units - 1 - parity;
        let short_to = if alone { units } else { short_from + 1 };
        (0..disks).map(move |disk| {
            let whole = units / disks + u64::from(disk < units % disks);
            let is_here = |&at: &u64| at % disks == disk;
            let short = (short_from..short_to).filter(is_here).count() as u64;
            (whole > 0).then(|| whole * unit - short * (unit - last))
        })
    }
}

/// Mean work of an array of disks for one request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ArrayWork {
    /// Number of disks that a request uses on average.
    pub disks: f64,
    /// Number of bytes that a request moves on all disks together, including parity.
    pub bytes: f64,
}

impl Striping {
    /// Return the work of a request of `bytes` bytes for an array.
    pub(crate) fn array_work(&self, access: Access, bytes: u64) -> ArrayWork {
        let request = Request {
            time: 0,
            bytes,
            access,
            stream: 0,
        };
        let shares = self.shares(&request).into_iter().flatten();
        shares.fold(
            ArrayWork {
                disks: 0.0,
                bytes: 0.0,
            },
            |done, share| ArrayWork {
                disks: done.disks + 1.0,
                bytes: done.bytes + share as f64,
            },
        )
    }
}
