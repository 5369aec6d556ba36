//! The jobs of one replication, whatever carries their messages.

use super::observe::Observer;
use isthmus_kernel::{Cycles, Streams};
use isthmus_units::Time;
use isthmus_workload::jobs::spec::JobsTraffic;
use isthmus_workload::jobs::{Demand, JobsSource, Layout, Operation, Process};
use std::vec::Drain;

/// Messages of a process that are told as asked for before the observer is asked whether it has
/// seen enough; what is left is told later.
const TOLD_AT_ONCE: u64 = 1 << 16;

/// What jobs ask for, and what has been told of it.
///
/// Calling contract: [`begin`](Self::begin) once. Whatever carries messages calls
/// [`handed`](Self::handed), [`arrived`](Self::arrived) and [`completed`](Self::completed) as
/// [`JobsSource`] asks for, then [`tell_phases`](Self::tell_phases), and offers what
/// [`take`](Self::take) gives.
#[derive(Debug)]
pub(crate) struct Jobs {
    source: JobsSource,
    /// Whether any process may have several messages under way.
    several: bool,
    /// Of each process how many of its messages have been told as offered.
    told: Vec<u64>,
    /// Messages on their way to the engine.
    demands: Vec<Demand>,
}

impl Jobs {
    /// The jobs of `traffic`, which lie where `layout` says, in ticks of this length.
    pub fn new(traffic: &JobsTraffic, layout: &Layout, tick: Time, streams: Streams) -> Self {
        let source = JobsSource::new(traffic, layout, tick, streams);
        let processes = source.processes().len();
        Self {
            several: (0..processes as u32).any(|process| source.several(process)),
            told: vec![0; processes],
            source,
            demands: Vec::new(),
        }
    }

    /// All processes, those of one job together.
    pub fn processes(&self) -> &[Process] {
        self.source.processes()
    }

    /// Lets all processes ask for their first messages.
    pub fn begin(&mut self) {
        self.source.begin(&mut self.demands);
    }

    /// The messages that the source has given, to be offered to the engine.
    #[inline]
    pub fn take(&mut self) -> Drain<'_, Demand> {
        self.demands.drain(..)
    }

    /// Whether the source is to be told of each message of this one's process that is handed over.
    #[inline]
    pub fn several(&self, demand: &Demand) -> bool {
        self.several && self.source.several(demand.process)
    }

    /// Whether the source is to be told in order of those that are complete.
    #[inline]
    pub fn in_order(&self, demand: &Demand) -> bool {
        self.several && self.source.in_order(demand.process)
    }

    /// A message has been handed over. To be told of those of [`several`](Self::several).
    #[inline]
    pub fn handed(&mut self, time: Cycles, demand: &Demand) {
        self.source.handed(time, demand, &mut self.demands);
    }

    /// All of a message has come in where its data goes; only writes are waited for there.
    #[inline]
    pub fn arrived(&mut self, time: Cycles, demand: &Demand) {
        if demand.operation == Operation::Write {
            self.source.arrived(time, demand, &mut self.demands);
        }
    }

    /// A message is complete at its process.
    #[inline]
    pub fn completed(&mut self, time: Cycles, demand: &Demand) {
        self.source.completed(time, demand, &mut self.demands);
    }

    /// Tells of the phases that have ended.
    #[inline]
    pub fn tell_phases<O: Observer>(&mut self, observer: &mut O) {
        for phase in self.source.ended_phases() {
            observer.phase(&phase);
        }
    }

    /// Tells of the messages that a process has asked for by now.
    pub fn tell_offered<O: Observer>(&mut self, process: u32, now: Cycles, observer: &mut O) {
        let asked = self.source.asked_by(process, now);
        let job = self.source.processes()[process as usize].job;
        let told = &mut self.told[process as usize];
        while *told < asked {
            observer.offered(job);
            *told += 1;
            // However much is asked for at once, an observer that has seen enough is heard.
            if told.is_multiple_of(TOLD_AT_ONCE) && observer.finished() {
                break;
            }
        }
    }

    /// The same of all processes, at the end of a run that has not been finished.
    pub fn tell_all_offered<O: Observer>(&mut self, now: Cycles, observer: &mut O) {
        for process in 0..self.told.len() as u32 {
            self.tell_offered(process, now, observer);
        }
    }
}
