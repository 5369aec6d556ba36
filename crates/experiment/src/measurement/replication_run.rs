//! One replication of a run with several interim evaluations (judgements of the results so far).
//!
//! The journal stores the results of a replication at an interim evaluation, but not the state of its
//! simulation. If a run that was resumed needs a further evaluation, the replication is simulated again from
//! its beginning.

use super::PointMeasurement;
use crate::kept::stopwatch;
use crate::limits::OFFERED_RATIO_MAX;
use crate::recorders::Recorders;
use crate::replication::{Finished, Halt, Length, Replication};
use isthmus_kernel::Cycles;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A replication, running or stored, and the number of interim evaluations that it has reached.
pub(super) struct ReplicationRun {
    /// Number of the replication.
    number: u64,
    /// Number of interim evaluations that the replication has reached.
    looks: usize,
    state: State,
}

/// State of a replication: running, or stored with its results at an interim evaluation.
enum State {
    /// The replication is running and can continue.
    Running(Replication),
    /// Only the results at an interim evaluation are known. To continue, the replication must run again from
    /// its beginning.
    Kept(Finished),
}

/// Results of a replication at an interim evaluation, as the journal stores them.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Number of messages of the replication at each interim evaluation so far.
    looks: Vec<u64>,
    finished: Finished,
}

impl ReplicationRun {
    /// Return the recorders (the recorded series of all measures) of the replication at its last interim
    /// evaluation.
    pub fn recorders(&self) -> &Recorders {
        match &self.state {
            State::Running(replication) => replication.recorders(),
            State::Kept(finished) => &finished.recorders,
        }
    }

    /// Return the number of cycles that the replication had simulated at its last interim evaluation.
    pub fn cycles(&self) -> Cycles {
        match &self.state {
            State::Running(replication) => replication.cycles(),
            State::Kept(finished) => finished.cycles,
        }
    }

    /// Return whether the machine had collapsed at the last interim evaluation.
    pub fn has_collapsed(&self) -> bool {
        match &self.state {
            State::Running(replication) => replication.has_collapsed(),
            State::Kept(finished) => finished.collapse.is_some(),
        }
    }

    /// Return the results of the replication at its last interim evaluation.
    pub fn finish(self) -> Finished {
        match self.state {
            State::Running(replication) => replication.finish(),
            State::Kept(finished) => finished,
        }
    }
}

impl PointMeasurement<'_> {
    /// Return the message counts of the interim evaluations up to the newest one in the journal, or only
    /// `first` if the journal has none. Also return the replications: those stored at that evaluation, and
    /// new ones for the others.
    pub(super) fn begin_looks(&self, first: u64) -> Result<(Vec<u64>, Vec<ReplicationRun>), Halt> {
        let part = |number| self.shared.kept.and_then(|kept| kept.part::<Kept>(number));
        let parts: Vec<Option<Kept>> = self.numbers().map(part).collect();
        let looks = (parts.iter().flatten().map(|part| &part.looks))
            .max_by_key(|looks| looks.len())
            .map_or_else(|| vec![first], Clone::clone);
        let run = |(number, part): (u64, Option<Kept>)| match part {
            Some(part) if part.looks.len() == looks.len() => Ok(ReplicationRun {
                number,
                looks: looks.len(),
                state: State::Kept(part.finished),
            }),
            _ => self.begin(number),
        };
        let runs: Result<_, _> = self.numbers().zip(parts).map(run).collect();
        Ok((looks, runs?))
    }

    /// Start the simulation of replication `number`, which has not reached an interim evaluation.
    fn begin(&self, number: u64) -> Result<ReplicationRun, Halt> {
        Ok(ReplicationRun {
            number,
            looks: 0,
            state: State::Running(self.replication(number)?),
        })
    }

    /// Run a replication to the last of these interim evaluations, given by their message counts. `max` is
    /// the message limit.
    pub(super) fn go_on(
        &self,
        run: &mut ReplicationRun,
        looks: &[u64],
        max: u64,
    ) -> Result<(), Halt> {
        if run.looks == looks.len() {
            return Ok(());
        }
        let began = stopwatch();
        if matches!(run.state, State::Kept(_)) {
            *run = self.begin(run.number)?;
        }
        let State::Running(replication) = &mut run.state else {
            unreachable!("it has just started");
        };
        for &messages in &looks[run.looks..] {
            let length = Length::AtLeast {
                messages,
                demands: OFFERED_RATIO_MAX.saturating_mul(messages),
                cycles: self.cycles_min,
                wanted: (self.cycles_wanted(), max),
            };
            if !replication.has_started() {
                self.warm_up(replication, length)?;
            }
            replication.run_to(length, self.shared.progress)?;
        }
        run.looks = looks.len();
        let Some(kept) = self.shared.kept else {
            return Ok(());
        };
        kept.keep(run.number, began.elapsed(), || {
            let finished = replication.so_far();
            finished.is_worth_keeping().then(|| Kept {
                looks: looks.to_vec(),
                finished,
            })
        })
    }
}
