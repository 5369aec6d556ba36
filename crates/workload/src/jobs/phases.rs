//! Phases of jobs: rounds of collective operations, or checkpoints.

use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// A phase of a job that has ended: all of its processes have ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Index of the job in the list of all jobs.
    pub job: u32,
    /// Time at which the first process started the phase. If the phase is a checkpoint, the time at which the
    /// checkpoint was due.
    pub start: Cycles,
    /// Time at which the last of the job's processes ended the phase.
    pub end: Cycles,
}

/// The phases of one job that some of its processes have ended and others have not, the oldest phase first. Each
/// process ends its phases in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Phases {
    processes: u32,
    open: VecDeque<Open>,
    /// Number of phases of the job that have ended.
    ended: u64,
}

/// A phase that some processes of a job have ended: its earliest start, its latest end so far, and the number of
/// processes that have not ended it.
#[derive(Debug, Clone, Copy)]
struct Open {
    start: Cycles,
    end: Cycles,
    running: u32,
}

impl Phases {
    /// Return the state of a job of `processes` processes before its first phase has started.
    pub(super) fn new(processes: u32) -> Self {
        Self {
            processes,
            ..Self::default()
        }
    }

    /// Return the number of processes of the job.
    pub(super) fn processes(&self) -> u32 {
        self.processes
    }

    /// Record that a process has ended phase `number`, counted from 0. If it is the last process to do so, return the
    /// start and the end of the phase, else `None`.
    pub(super) fn end(
        &mut self,
        number: u64,
        start: Cycles,
        end: Cycles,
    ) -> Option<(Cycles, Cycles)> {
        let at = (number - self.ended) as usize;
        let new = Open {
            start,
            end,
            running: self.processes,
        };
        if self.open.len() <= at {
            self.open.resize(at + 1, new);
        }
        let phase = &mut self.open[at];
        phase.start = phase.start.min(start);
        phase.end = phase.end.max(end);
        phase.running -= 1;
        if phase.running > 0 {
            return None;
        }
        // The oldest open phase is the one that ends, because a process that ends a phase has ended all earlier ones.
        self.ended += 1;
        self.open.pop_front().map(|phase| (phase.start, phase.end))
    }

    /// Return the start time of each phase that has not ended, the oldest phase first. `started` yields, for each
    /// process, the number of its present phase and the time at which the process started it.
    pub(super) fn open_since(&self, started: impl Iterator<Item = (u64, Cycles)>) -> Vec<Cycles> {
        let mut first: Vec<Cycles> = self.open.iter().map(|phase| phase.start).collect();
        for (number, time) in started {
            let Some(at) = number.checked_sub(self.ended) else {
                continue;
            };
            let at = at as usize;
            if first.len() <= at {
                first.resize(at + 1, time);
            }
            first[at] = first[at].min(time);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a phase counts as started at the earliest time at which one of its processes entered it.
    #[test]
    fn a_phase_is_open_from_its_first_process_on() {
        let mut phases = Phases::new(3);
        assert_eq!(
            phases.open_since([(0, 10), (0, 5), (0, 8)].into_iter()),
            [5]
        );
        phases.end(0, 5, 60);
        // One process has been in phase 1 since time 60; the others are still in phase 0.
        assert_eq!(
            phases.open_since([(0, 10), (1, 60), (0, 8)].into_iter()),
            [5, 60]
        );
        phases.end(0, 10, 70);
        phases.end(0, 8, 80);
        assert_eq!(
            phases.open_since([(1, 60), (1, 70), (1, 80)].into_iter()),
            [60]
        );
    }

    /// Checks that a phase lasts from the earliest start of a process to the latest end.
    #[test]
    fn a_phase_lasts_from_the_first_begin_to_the_last_end() {
        let mut phases = Phases::new(3);
        assert_eq!(phases.end(0, 10, 50), None);
        // The first process ends phase 1 before the others have ended phase 0.
        assert_eq!(phases.end(1, 50, 90), None);
        assert_eq!(phases.end(0, 5, 60), None);
        assert_eq!(phases.end(0, 8, 55), Some((5, 60)));
        assert_eq!(phases.end(1, 55, 70), None);
        assert_eq!(phases.end(1, 60, 80), Some((50, 90)));
    }
}
