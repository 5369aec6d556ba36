//! The jobs during one replication of a simulation: they generate messages, and their progress is reported to the
//! observer. The module does not depend on the engine that carries the messages.

use super::observe::Observer;
use isthmus_kernel::{Cycles, Streams};
use isthmus_units::Time;
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, JobsSource, Layout, Operation, Phase, Process};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Number of messages of a process that are reported to the observer before the next check whether the observer ends
/// the run.
const REPORTED_AT_ONCE: u64 = 1 << 16;

/// A process: its job, and the number of its messages that were reported to the observer as offered
/// (generated).
#[derive(Debug, Clone, Copy)]
struct Reported {
    messages: u64,
    job: u32,
}

/// A process in a queue ordered by time. `time` is at or before the time of the next message of the process.
/// The entry with the earliest time compares as the greatest, so that a max-heap returns it first.
#[derive(Debug, Clone, Copy)]
struct QueuedProcess {
    time: Cycles,
    process: u32,
}

impl Ord for QueuedProcess {
    /// Compare in reverse order of time, so that a max-heap returns the earliest entry first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.cmp(&self.time)
    }
}

impl PartialOrd for QueuedProcess {
    /// Compare like `cmp`: in reverse order of time; never `None`.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueuedProcess {
    /// Return whether both queue entries have the same time; the process does not count.
    fn eq(&self, other: &Self) -> bool {
        self.time == other.time
    }
}

impl Eq for QueuedProcess {}

/// The phases and messages of all jobs that have started and not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Open {
    /// The phases that have started and not ended. Each contains the present time instead of its end.
    pub phases: Vec<Phase>,
    /// For each incomplete message of a closed loop: the index of its job, and its age, the ticks since its
    /// generation.
    pub messages: Vec<(u32, Cycles)>,
}

/// Messages of all jobs, and the number of them that was reported to the observer.
///
/// Calling contract: call [`begin`](Self::begin) once. The simulation calls [`handed`](Self::handed),
/// [`arrived`](Self::arrived) and [`completed`](Self::completed) as [`JobsSource`] requires, then
/// [`report_phases`](Self::report_phases), and offers the messages of [`pass_on`](Self::pass_on) to the
/// engine.
#[derive(Debug)]
pub(crate) struct Jobs {
    source: JobsSource,
    /// Whether any process of any job may have several messages in flight at once.
    several: bool,
    /// Number of messages of each process that were reported to the observer.
    reported: Vec<Reported>,
    /// Processes of open loops. Their messages are reported in the order of time, so that a backlog includes
    /// all messages that wait at any moment.
    open_loops: BinaryHeap<QueuedProcess>,
    /// Messages that wait to be passed on to the engine.
    demands: Vec<Demand>,
}

impl Jobs {
    /// Create the jobs that `traffic` describes on the nodes of `layout`, with times in ticks of this length.
    pub fn new(traffic: &JobsTraffic, layout: &Layout, tick: Time, streams: Streams) -> Self {
        let source = JobsSource::new(traffic, layout, tick, streams);
        let processes = source.processes();
        let none_reported = |process: &Process| Reported {
            messages: 0,
            job: process.job,
        };
        Self {
            several: (0..processes.len() as u32).any(|process| source.several(process)),
            reported: processes.iter().map(none_reported).collect(),
            open_loops: BinaryHeap::new(),
            source,
            demands: Vec::new(),
        }
    }

    /// Return all processes, grouped by job.
    pub fn processes(&self) -> &[Process] {
        self.source.processes()
    }

    /// Generate the first messages of all processes.
    pub fn begin(&mut self) {
        self.source.begin(&mut self.demands);
        let processes = 0..self.reported.len() as u32;
        let open = processes.filter(|&process| self.source.asked_and_next(process, 0).1.is_some());
        self.open_loops = open
            .map(|process| QueuedProcess { time: 0, process })
            .collect();
    }

    /// Call `offer` for each generated message that was not passed on yet.
    #[inline]
    pub fn pass_on(&mut self, offer: impl FnMut(&Demand)) {
        self.demands.iter().for_each(offer);
        self.demands.clear();
    }

    /// Return whether the process of `demand` may have several messages in flight at once, so that
    /// [`handed`](Self::handed) must be called for each.
    #[inline]
    pub fn several(&self, demand: &Demand) -> bool {
        self.several && self.source.several(demand.process)
    }

    /// Return whether the simulation must report completions of the process of `demand` in the order of time.
    #[inline]
    pub fn in_order(&self, demand: &Demand) -> bool {
        self.several && self.source.in_order(demand.process)
    }

    /// Handle the handover of a message to the network, at `time`. The caller must report it if
    /// [`several`](Self::several) is true for the message, and may leave it out otherwise.
    #[inline]
    pub fn handed(&mut self, time: Cycles, demand: &Demand) {
        self.source.handed(time, demand, &mut self.demands);
    }

    /// Handle the arrival of all data of a message at its destination, at `time`. Has an effect only for a write.
    #[inline]
    pub fn arrived(&mut self, time: Cycles, demand: &Demand) {
        if demand.operation == Operation::Write {
            self.source.arrived(time, demand, &mut self.demands);
        }
    }

    /// Handle the completion of a message at `time`: the process that requested it may generate its next ones.
    #[inline]
    pub fn completed(&mut self, time: Cycles, demand: &Demand) {
        self.source.completed(time, demand, &mut self.demands);
    }

    /// Report to the observer the phases of jobs that have ended.
    #[inline]
    pub fn report_phases<O: Observer>(&mut self, observer: &mut O) {
        for phase in self.source.ended_phases() {
            observer.phase(&phase);
        }
    }

    /// Report to the observer the messages that this process and all open loops have generated by `now`.
    #[inline]
    pub fn report_offered<O: Observer>(&mut self, process: u32, now: Cycles, observer: &mut O) {
        if self
            .open_loops
            .peek()
            .is_some_and(|first| first.time <= now)
        {
            self.report_open_loops(now, observer);
        }
        if self.open_loops.len() < self.reported.len() {
            self.report_process(process, now, observer);
        }
    }

    /// Report to the observer the messages that all processes have generated by `now`, without those already
    /// reported. Call it at the end of a run, unless the observer ended the run.
    pub fn report_all_offered<O: Observer>(&mut self, now: Cycles, observer: &mut O) {
        self.report_open_loops(now, observer);
        for process in 0..self.reported.len() as u32 {
            self.report_process(process, now, observer);
        }
    }

    /// Report to the observer, in the order of time, the messages generated by `now` by processes that send
    /// without waiting for completions (open loops).
    fn report_open_loops<O: Observer>(&mut self, now: Cycles, observer: &mut O) {
        while let Some(&QueuedProcess { time, process }) = self.open_loops.peek()
            && time <= now
        {
            let (asked, next) = self.source.asked_and_next(process, time);
            if !self.report(process, asked, observer) {
                return;
            }
            if let Some(mut first) = self.open_loops.peek_mut() {
                first.time = next.unwrap_or(Cycles::MAX);
            }
        }
    }

    /// Report the messages that a process has generated by `now`, except those that are already reported.
    fn report_process<O: Observer>(&mut self, process: u32, now: Cycles, observer: &mut O) {
        let asked = self.source.asked_by(process, now);
        self.report(process, asked, observer);
    }

    /// Report the messages of a process to the observer, up to `asked`, the number generated so far, without
    /// those already reported. Return false if the observer ends the run before the last one.
    #[inline]
    fn report<O: Observer>(&mut self, process: u32, asked: u64, observer: &mut O) -> bool {
        let Reported { messages, job } = &mut self.reported[process as usize];
        while *messages < asked {
            observer.offered(*job);
            *messages += 1;
            // Check the observer now and then: it may end the run while a process generates very many
            // messages at once.
            if messages.is_multiple_of(REPORTED_AT_ONCE) && observer.finished() {
                return false;
            }
        }
        true
    }

    /// Return the phases and messages that have started by `now` and have not ended. The caller must call
    /// [`report_all_offered`](Self::report_all_offered) before.
    pub fn open(&self, now: Cycles) -> Open {
        Open {
            phases: self.source.open_phases(now),
            messages: self.source.open_messages(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Completed, Packet};
    use super::*;
    use isthmus_units::{Bandwidth, Bytes};
    use isthmus_workload::Outstanding;
    use isthmus_workload::jobs::spec::{
        Arrivals, Job, JobNodes, Mapping, Serve, Servers, Sizes, Spread, Traffic,
    };
    use isthmus_workload::storage::StorageSpec;

    /// Observer for the tests: counts the messages that are reported as offered, for each of two jobs.
    struct Offered([u64; 2]);

    impl Observer for Offered {
        /// Count a message that a job has offered.
        fn offered(&mut self, job: u32) {
            self.0[job as usize] += 1;
        }
        /// Ignore the arrival of a packet.
        fn packet(&mut self, _: &Packet) {}
        /// Ignore the completion of a message.
        fn completed(&mut self, _: &Completed) {}
        /// Return false: this observer never ends a run.
        fn finished(&self) -> bool {
            false
        }
    }

    /// Checks that each report of offered messages covers all processes up to its time. Two jobs are open loops
    /// on four nodes each, one with random gaps and one with bursts every 2 us.
    #[test]
    fn a_report_of_offered_messages_covers_all_processes() {
        let job = |name: &str, nodes: [u32; 4], traffic| Job {
            name: name.to_owned(),
            nodes: JobNodes::Listed(nodes.to_vec()),
            traffic,
            active: true,
            outstanding: Outstanding::ONE,
        };
        let uniform = Traffic::Uniform {
            sizes: Sizes::fixed(Bytes::new(1_000)),
            arrivals: Arrivals::Open {
                load: Bandwidth::from_mb_per_s(1_000),
                gaps: Spread::Exponential,
            },
        };
        let checkpoint = Traffic::Checkpoint {
            period: Time::from_us(2),
            volume: Bytes::new(3_000),
            message: Bytes::new(1_000),
            destinations: isthmus_workload::jobs::spec::Destinations::Interleaved,
        };
        let traffic = JobsTraffic {
            servers: Servers::Listed(vec![8]),
            serve: Serve::All,
            storage: StorageSpec::None,
            mapping: Mapping::Dedicated,
            jobs: vec![
                job("a", [0, 1, 2, 3], uniform),
                job("b", [4, 5, 6, 7], checkpoint),
            ],
        };
        let layout = Layout::new(&traffic, 9).expect("it fits");
        let (tick, streams) = (Time::from_ns(1), Streams::new(3, 0));
        let mut jobs = Jobs::new(&traffic, &layout, tick, streams);
        jobs.begin();
        let mut all = JobsSource::new(&traffic, &layout, tick, streams);
        all.begin(&mut Vec::new());
        let mut seen = Offered([0; 2]);
        for (at, now) in [
            (0, 0),
            (7, 10),
            (3, 900),
            (3, 2_000),
            (0, 2_001),
            (5, 9_999),
        ] {
            jobs.report_offered(at, now, &mut seen);
            let mut asked =
                |of: std::ops::Range<u32>| of.map(|p| all.asked_by(p, now)).sum::<u64>();
            assert_eq!(seen.0, [asked(0..4), asked(4..8)], "at {now}");
            // Expect that each of the four processes of the second job has sent three messages at 0, 2, 4 us and so on.
            assert_eq!(seen.0[1], 12 * (now / 2_000 + 1));
        }
        assert!(seen.0[0] > 20, "some 40 in 10 us: {}", seen.0[0]);
    }
}
