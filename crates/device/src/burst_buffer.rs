//! A fast buffer that drains into something slower.

use crate::Busy;
use crate::queue::LATEST;
use crate::request::{Access, Request};
use isthmus_kernel::Cycles;
use std::collections::{BTreeMap, VecDeque};

/// What a burst buffer is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstTimes {
    /// Bytes that it can hold.
    pub capacity: u64,
    /// Cycles in which it takes a byte in, or gives one back.
    pub absorb: f64,
    /// Cycles in which a byte goes to what is behind it, or comes from there; not less than `absorb`.
    pub drain: f64,
}

/// A burst buffer.
///
/// Data are a fluid. Writes are taken in one after another, each at the full rate while the buffer has
/// room and at the rate of the drain from the moment at which it is full; a write is done when the last
/// of it has been taken in. The drain never rests while there is anything, oldest first. So C bytes
/// fill it after C / (a - d) at the rates a and d.
///
/// A read is given from the buffer if what its stream has written and has not drained is at least as
/// much; a message counts until the last of it has drained. Otherwise it comes from behind. Reads of
/// both kinds go one after another, at the rate of the buffer and at that of the drain; they do not
/// slow writes, the drain or one another.
#[derive(Debug, Clone)]
pub(crate) struct BurstBuffer {
    times: BurstTimes,
    written: Fluid,
    drained: Fluid,
    given: Fluid,
    fetched: Fluid,
    /// Messages that have not drained: until when they will, of which stream, how long.
    held: VecDeque<(f64, u32, u64)>,
    /// Bytes of these by stream.
    of_stream: BTreeMap<u32, u64>,
}

impl BurstBuffer {
    pub(crate) fn new(times: BurstTimes) -> Self {
        Self {
            times,
            written: Fluid::default(),
            drained: Fluid::default(),
            given: Fluid::default(),
            fetched: Fluid::default(),
            held: VecDeque::new(),
            of_stream: BTreeMap::new(),
        }
    }

    pub(crate) fn serve(&mut self, request: &Request) -> Cycles {
        self.forget(request.time as f64);
        match request.access {
            Access::Write => self.write(request),
            Access::Read => self.read(request),
        }
    }

    /// Drops what has drained.
    fn forget(&mut self, now: f64) {
        while let Some(&(until, stream, bytes)) = self.held.front()
            && until <= now
        {
            self.held.pop_front();
            if let Some(held) = self.of_stream.get_mut(&stream) {
                *held -= bytes;
                if *held == 0 {
                    self.of_stream.remove(&stream);
                }
            }
        }
    }

    fn write(&mut self, request: &Request) -> Cycles {
        let BurstTimes {
            capacity,
            absorb,
            drain,
        } = self.times;
        let (now, bytes) = (request.time, request.bytes as f64);
        let begin = self.written.free.max(now as f64);
        // What is left of the drain's work is what the buffer holds.
        let holds = (self.drained.free - begin).max(0.0) / drain;
        // Bytes that it takes in until it is full: of each the part that does not drain meanwhile stays.
        let stays = 1.0 - absorb / drain;
        let until_full = (capacity as f64 - holds).max(0.0) / stays;
        let (fast, slow) = match stays > 0.0 && until_full < bytes {
            true => (until_full, bytes - until_full),
            false => (bytes, 0.0),
        };
        let end = begin + fast * absorb + slow * drain;
        self.written.take(now, begin, end);
        let from = self.drained.free.max(begin);
        self.drained.take(now, from, from + bytes * drain);
        if request.bytes > 0 {
            *self.of_stream.entry(request.stream).or_default() += request.bytes;
            let until = self.drained.free;
            (self.held).push_back((until, request.stream, request.bytes));
        }
        whole(end)
    }

    fn read(&mut self, request: &Request) -> Cycles {
        let held = self.of_stream.get(&request.stream).copied().unwrap_or(0);
        let (from, per_byte) = match held >= request.bytes {
            true => (&mut self.given, self.times.absorb),
            false => (&mut self.fetched, self.times.drain),
        };
        let begin = from.free.max(request.time as f64);
        let end = begin + request.bytes as f64 * per_byte;
        from.take(request.time, begin, end);
        whole(end)
    }

    /// What it does at a time each: taking in, draining, giving back, fetching from behind.
    pub(crate) fn busy(&self) -> [&Busy; 4] {
        [&self.written, &self.drained, &self.given, &self.fetched].map(|fluid| &fluid.busy)
    }
}

/// The nearest cycle.
fn whole(time: f64) -> Cycles {
    (time.round() as Cycles).min(LATEST)
}

/// One thing after another, at times that are no whole cycles.
#[derive(Debug, Clone, Default)]
struct Fluid {
    free: f64,
    busy: Busy,
}

impl Fluid {
    fn take(&mut self, now: Cycles, from: f64, to: f64) {
        self.free = to;
        self.busy.take(now, whole(from), whole(to));
    }
}
