//! Several disks that share each request.

use crate::queue::Queue;
use crate::request::{Access, Request};
use crate::{Busy, Disk};
use isthmus_kernel::{Cycles, Stream, draw_below};

/// How an array of disks lays data out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Striping {
    /// Number of disks, 1 or more.
    pub disks: u32,
    /// Bytes on one disk before the next has its turn, 1 or more.
    pub unit: u64,
    /// Units of parity beside the data of each row of units, fewer than the disks: 0 is RAID 0, 1 is
    /// RAID 5, 2 is RAID 6.
    pub parity: u32,
}

/// An array of disks.
///
/// A request is cut into units, the last as long as what is left, and these are dealt out to one disk
/// after another; the first is drawn. What is written fills rows of as many units as there are disks,
/// of which `parity` are none of data: as long as the longest of their row, dealt out with it. The old
/// contents of rows that are not written whole are not read. Each disk makes one access for all its
/// units, first come, first served, with a seek and a latency of its own; the request is done when the
/// last of them is.
#[derive(Debug, Clone)]
pub(crate) struct Array {
    striping: Striping,
    disk: Disk,
    first: Stream,
    disks: Vec<(Queue, Stream)>,
}

impl Array {
    /// An idle array; its own draws are those of stream 0, those of its disks of 1 and so on.
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

    pub(crate) fn serve(&mut self, request: &Request) -> Cycles {
        let count = self.disks.len();
        let first = draw_below(count as u64, &mut self.first) as usize;
        let share = self.striping.shares(request);
        let mut done = request.time;
        for (at, bytes) in share.into_iter().enumerate() {
            let Some(bytes) = bytes else { break };
            let (queue, stream) = &mut self.disks[(first + at) % count];
            let access = self.disk.access(bytes, stream);
            done = done.max(queue.take(request.time, request.time, access));
        }
        done
    }

    pub(crate) fn busy(&self) -> impl Iterator<Item = &Busy> {
        self.disks.iter().map(|(queue, _)| queue.busy())
    }
}

impl Striping {
    /// Bytes of a request for each disk, from the first that has a part on; `None` for those without.
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
        // The last unit of data is short, and where it is alone in its row so is the parity behind it.
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

/// Of requests of so many bytes what an array does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Done {
    /// Disks that each takes.
    pub disks: f64,
    /// Bytes on all of them.
    pub bytes: f64,
}

impl Striping {
    /// What a request of so many bytes takes of an array.
    pub(crate) fn done(&self, access: Access, bytes: u64) -> Done {
        let request = Request {
            time: 0,
            bytes,
            access,
            stream: 0,
        };
        let shares = self.shares(&request).into_iter().flatten();
        shares.fold(
            Done {
                disks: 0.0,
                bytes: 0.0,
            },
            |done, share| Done {
                disks: done.disks + 1.0,
                bytes: done.bytes + share as f64,
            },
        )
    }
}
