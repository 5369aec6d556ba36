//! Record of the time spans in which a storage device is busy.

use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// Busy times of a device that serves one request at a time.
#[derive(Debug, Clone, Default)]
pub struct Busy {
    /// Total length in cycles of the busy spans that are over and were removed from `ahead`.
    done: Cycles,
    /// Busy spans that may reach beyond the present, in the order of time; spans without a gap between them are one.
    ahead: VecDeque<(Cycles, Cycles)>,
    /// Number of uses of the device so far, including future ones.
    uses: u64,
}

impl Busy {
    /// Mark the device busy from `from` to `to`; the current time is `now`. Spans must be added in order and must not
    /// overlap.
    #[inline]
    pub(crate) fn add_span(&mut self, now: Cycles, from: Cycles, to: Cycles) {
        self.uses += 1;
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

    /// Return the number of busy cycles before `now`. `now` must not be earlier than in the last call of `add_span`.
    pub fn cycles_by(&self, now: Cycles) -> Cycles {
        let spans = self.ahead.iter();
        let part = |&(from, to): &(Cycles, Cycles)| to.min(now).saturating_sub(from);
        self.done + spans.map(part).sum::<Cycles>()
    }

    /// Return how often the device was used, including the uses for requests that still wait.
    pub fn uses(&self) -> u64 {
        self.uses
    }

    /// Return the total number of cycles for which the device is busy, including future ones.
    pub fn total_cycles(&self) -> Cycles {
        self.cycles_by(Cycles::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the busy time up to a cycle counts all busy cycles before it, and no others.
    #[test]
    fn busy_cycles_count_after_they_have_passed() {
        let mut busy = Busy::default();
        // The three spans below cover cycles 3 and 4, then 7, 8 and 9, and then 10 and 11.
        let cycles = [3, 4, 7, 8, 9, 10, 11];
        busy.add_span(0, 3, 5);
        busy.add_span(2, 7, 10);
        busy.add_span(6, 10, 12);
        for now in 6..20 {
            let passed = cycles.iter().filter(|&&cycle| cycle < now).count();
            assert_eq!(busy.cycles_by(now), passed as Cycles, "at {now}");
        }
        assert_eq!((busy.uses(), busy.total_cycles()), (3, 7));
    }

    /// Checks that busy spans without a gap between them are stored as one, so that a device that is always busy needs
    /// no more memory.
    #[test]
    fn a_device_without_a_pause_is_one_span() {
        let mut busy = Busy::default();
        for n in 0..1000 {
            busy.add_span(n, 10 * n, 10 * (n + 1));
        }
        assert_eq!(busy.ahead.len(), 1);
        assert_eq!(busy.cycles_by(1234), 1234);
    }
}
