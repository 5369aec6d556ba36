//! The busy time of a device.

use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// The times for which a device is taken. It serves one request after another.
#[derive(Debug, Clone, Default)]
pub struct Busy {
    /// Cycles of the spans that have been dropped from `ahead`.
    done: Cycles,
    /// Spans that may reach beyond the present, in order; those that touch are one.
    ahead: VecDeque<(Cycles, Cycles)>,
    /// Requests, whether done, in service or waiting.
    taken: u64,
}

impl Busy {
    /// Take the device from `from` until `to`. `now` is the time of the call, and `from` must not be
    /// before the end of an earlier span.
    #[inline]
    pub(crate) fn take(&mut self, now: Cycles, from: Cycles, to: Cycles) {
        self.taken += 1;
        while let Some(&(start, end)) = self.ahead.front()
            && end <= now
        {
            self.done += end - start;
            self.ahead.pop_front();
        }
        match self.ahead.back_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.ahead.push_back((from, to)),
        }
    }

    /// Return for how many cycles before `now` it was taken. `now` must not be before that of the last
    /// call of `take`.
    pub fn cycles_by(&self, now: Cycles) -> Cycles {
        let spans = self.ahead.iter();
        let part = |&(from, to): &(Cycles, Cycles)| to.min(now).saturating_sub(from);
        self.done + spans.map(part).sum::<Cycles>()
    }

    /// Return how often it was taken, requests that wait for it included.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Return for how many cycles it was or will be taken by all requests so far.
    pub fn cycles_in_all(&self) -> Cycles {
        self.cycles_by(Cycles::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cycle_counts_when_it_has_passed() {
        let mut busy = Busy::default();
        // Taken in 3, 4; 7, 8, 9; then 9 is gone: 10, 11.
        let cycles = [3, 4, 7, 8, 9, 10, 11];
        busy.take(0, 3, 5);
        busy.take(2, 7, 10);
        busy.take(6, 10, 12);
        for now in 6..20 {
            let passed = cycles.iter().filter(|&&cycle| cycle < now).count();
            assert_eq!(busy.cycles_by(now), passed as Cycles, "at {now}");
        }
        assert_eq!((busy.taken(), busy.cycles_in_all()), (3, 7));
    }

    #[test]
    fn a_device_without_a_pause_is_one_span() {
        let mut busy = Busy::default();
        for n in 0..1000 {
            busy.take(n, 10 * n, 10 * (n + 1));
        }
        assert_eq!(busy.ahead.len(), 1);
        assert_eq!(busy.cycles_by(1234), 1234);
    }
}
