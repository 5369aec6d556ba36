//! A fast buffer that drains to slower storage.

use crate::Busy;
use crate::queue::LATEST;
use crate::request::{Access, Request};
use isthmus_kernel::Cycles;
use std::collections::{BTreeMap, VecDeque};

/// Parameters of a burst buffer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstTimes {
    /// Capacity of the buffer in bytes.
    pub capacity: u64,
    /// Cycles per byte for a write into the buffer or a read from it.
    pub absorb: f64,
    /// Cycles per byte to or from the storage behind the buffer; not less than `absorb`.
    pub drain: f64,
}

/// State of a burst buffer: a fast buffer that drains to slower storage.
///
/// Data flow like a fluid. Writes enter the buffer one after another, at the full rate while the buffer has room and at
/// the rate of the drain while it is full. A write ends when its last byte has entered. The drain works whenever the
/// buffer contains data, the oldest data first. So C bytes fill the buffer after C / (a - d) at the rates a (absorb)
/// and d (drain).
///
/// A read is served from the buffer if the undrained data of its stream are at least as large as the read; otherwise it
/// is served from the storage behind the buffer. A message counts as undrained until its last byte has drained. The
/// reads of each kind are served one after another, at the rate of the buffer or of the drain. They slow neither writes
/// nor the drain nor the reads of the other kind.
#[derive(Debug, Clone)]
pub(crate) struct BurstBuffer {
    times: BurstTimes,
    writes: Activity,
    drains: Activity,
    buffer_reads: Activity,
    backing_reads: Activity,
    /// Undrained messages: the time at which each has drained, its stream, its length in bytes.
    undrained: VecDeque<(f64, u32, u64)>,
    /// Number of undrained bytes of each stream.
    of_stream: BTreeMap<u32, u64>,
}

impl BurstBuffer {
    /// Return an empty burst buffer.
    pub(crate) fn new(times: BurstTimes) -> Self {
        Self {
            times,
            writes: Activity::default(),
            drains: Activity::default(),
            buffer_reads: Activity::default(),
            backing_reads: Activity::default(),
            undrained: VecDeque::new(),
            of_stream: BTreeMap::new(),
        }
    }

    /// Serve a request and return the time at which it ends.
    pub(crate) fn serve(&mut self, request: &Request) -> Cycles {
        self.drop_drained(request.time as f64);
        match request.access {
            Access::Write => self.write(request),
            Access::Read => self.read(request),
        }
    }

    /// Remove the messages whose data has left the buffer (drained) by `now`.
    fn drop_drained(&mut self, now: f64) {
        while let Some(&(until, stream, bytes)) = self.undrained.front()
            && until <= now
        {
            self.undrained.pop_front();
            if let Some(undrained) = self.of_stream.get_mut(&stream) {
                *undrained -= bytes;
                if *undrained == 0 {
                    self.of_stream.remove(&stream);
                }
            }
        }
    }

    /// Serve a write and return the time at which its last byte has entered the buffer.
    fn write(&mut self, request: &Request) -> Cycles {
        let BurstTimes {
            capacity,
            absorb,
            drain,
        } = self.times;
        let (now, bytes) = (request.time, request.bytes as f64);
        let begin = self.writes.free.max(now as f64);
        // The time that the buffer needs to drain completely determines the number of bytes in it.
        let content = (self.drains.free - begin).max(0.0) / drain;
        // Compute the bytes that enter until the buffer is full. While bytes enter, others drain, so that each byte
        // that enters adds only `stays` bytes.
        let stays = 1.0 - absorb / drain;
        let until_full = (capacity as f64 - content).max(0.0) / stays;
        let (fast, slow) = match stays > 0.0 && until_full < bytes {
            true => (until_full, bytes - until_full),
            false => (bytes, 0.0),
        };
        let end = begin + fast * absorb + slow * drain;
        self.writes.occupy(now, begin, end);
        let from = self.drains.free.max(begin);
        self.drains.occupy(now, from, from + bytes * drain);
        if request.bytes > 0 {
            *self.of_stream.entry(request.stream).or_default() += request.bytes;
            let until = self.drains.free;
            (self.undrained).push_back((until, request.stream, request.bytes));
        }
        rounded(end)
    }

    /// Serve a read from the buffer or from the storage behind it, and return the time at which it ends.
    fn read(&mut self, request: &Request) -> Cycles {
        let undrained = self.of_stream.get(&request.stream).copied().unwrap_or(0);
        let (from, per_byte) = match undrained >= request.bytes {
            true => (&mut self.buffer_reads, self.times.absorb),
            false => (&mut self.backing_reads, self.times.drain),
        };
        let begin = from.free.max(request.time as f64);
        let end = begin + request.bytes as f64 * per_byte;
        from.occupy(request.time, begin, end);
        rounded(end)
    }

    /// Return the busy times of the four concurrent activities: writes, drain, reads from the buffer, and reads from
    /// the storage behind it.
    pub(crate) fn busy(&self) -> [&Busy; 4] {
        [
            &self.writes,
            &self.drains,
            &self.buffer_reads,
            &self.backing_reads,
        ]
        .map(|activity| &activity.busy)
    }
}

/// Round a time to the nearest cycle, at most [`LATEST`].
fn rounded(time: f64) -> Cycles {
    (time.round() as Cycles).min(LATEST)
}

/// An activity that serves one request after another, at times that need not be whole cycles.
#[derive(Debug, Clone, Default)]
struct Activity {
    free: f64,
    busy: Busy,
}

impl Activity {
    /// Record at time `now` that the activity is busy from `from` to `to`.
    fn occupy(&mut self, now: Cycles, from: f64, to: f64) {
        self.free = to;
        self.busy.add_span(now, rounded(from), rounded(to));
    }
}
