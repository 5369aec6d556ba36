//! Finds the load at which one combination of the other fields saturates.

use crate::kept::stopwatch;
use crate::measurement;
use crate::replication::{Halt, Shared};
use crate::result::{EndedBy, State, Trial};
use crate::rules::Rules;
use crate::subject::Subject;
use isthmus_statistics::{Bracket, KneeSearch, SaturationTest, Verdict};
use std::sync::Arc;

/// The interval of loads to search, in the unit of [`crate::result::Load`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    /// Lowest load.
    pub from: f64,
    /// Highest load.
    pub to: f64,
    /// Requested width of the bracket between stable and saturated loads, relative to its middle.
    pub resolution: f64,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Found {
    /// The loads found stable, saturated and undecided.
    pub bracket: Bracket,
    /// Whether the bracket has the requested width.
    pub reached: bool,
    /// Result at each load that the search tried.
    pub trials: Vec<Trial>,
}

/// Run the search. `subject_at` returns the machine with its traffic at a load.
///
/// The requested resolution is relative to the saturation load, which a first pass estimates with half of the
/// error rate. A second pass, inside the bracket of the first, uses a quarter of the error rate. If loads
/// stay undecided at the longest run allowed, a last pass uses longer runs and the remaining quarter.
pub(crate) fn run(
    range: &Range,
    seed: u64,
    rules: &Rules,
    subject_at: impl Fn(f64) -> Arc<dyn Subject>,
    shared: Shared<'_>,
) -> Result<Found, Halt> {
    let error_rate = rules.verdict.error_rate;
    let mut trials = Vec::new();
    let mut pass = |rules: &Rules, error_rate: f64, (low, high): (f64, f64), width: f64| {
        let pass = Pass {
            seed,
            rules,
            shared,
            error_rate,
            trials: &mut trials,
        };
        pass.run((low, high), width, &subject_at)
    };
    let middle = (range.from * range.to).sqrt();
    let ends = (range.from, range.to);
    let mut bracket = pass(rules, error_rate / 2.0, ends, range.resolution * middle)?;
    if bracket.width().is_some() && bracket.undecided.is_none() && range.is_too_wide(bracket) {
        let (ends, width) = range.interval_to_search(bracket);
        let inner = pass(rules, error_rate / 4.0, ends, width)?;
        bracket = narrowed(bracket, inner);
    }
    if bracket.undecided.is_some()
        && range.is_too_wide(bracket)
        && let Some(patient) = rules.patient()
    {
        let (ends, width) = range.interval_to_search(bracket);
        let inner = pass(&patient, error_rate / 4.0, ends, width)?;
        bracket = narrowed(bracket, inner);
    }
    Ok(Found {
        bracket,
        reached: !range.is_too_wide(bracket),
        trials,
    })
}

impl Range {
    /// Return whether an end of the bracket is unknown or the bracket is wider than requested.
    fn is_too_wide(&self, bracket: Bracket) -> bool {
        match (bracket.stable, bracket.saturated) {
            // Bisection may end a rounding error above the resolution.
            (Some(stable), Some(saturated)) => {
                let width = self.resolution * 0.5 * (stable + saturated);
                saturated - stable > width * (1.0 + 1e-9)
            }
            _ => true,
        }
    }

    /// Return the interval that may contain the saturation load, and the requested width there.
    fn interval_to_search(&self, bracket: Bracket) -> ((f64, f64), f64) {
        let low = bracket.stable.unwrap_or(self.from);
        let high = bracket.saturated.unwrap_or(self.to);
        ((low, high), self.resolution * 0.5 * (low + high))
    }
}

/// Narrow a bracket to the result of a search inside it. The search tests both ends again. An end becomes
/// unknown if the search contradicts it.
fn narrowed(outer: Bracket, inner: Bracket) -> Bracket {
    let below = |end: &f64| inner.saturated.is_none_or(|saturated| *end < saturated);
    let above = |end: &f64| inner.stable.is_none_or(|stable| *end > stable);
    Bracket {
        stable: inner.stable.or(outer.stable.filter(below)),
        saturated: inner.saturated.or(outer.saturated.filter(above)),
        undecided: inner.undecided,
    }
}

/// One bisection with a fixed final width.
struct Pass<'a> {
    seed: u64,
    /// Rules for the runs at each load.
    rules: &'a Rules,
    shared: Shared<'a>,
    /// Probability of a wrong verdict, for all loads of the pass together.
    error_rate: f64,
    /// Results of this pass and of the passes before.
    trials: &'a mut Vec<Trial>,
}

impl Pass<'_> {
    /// Bisect until the bracket has the width `resolution`, and return it.
    fn run(
        self,
        (low, high): (f64, f64),
        resolution: f64,
        subject_at: &impl Fn(f64) -> Arc<dyn Subject>,
    ) -> Result<Bracket, Halt> {
        let mut search = KneeSearch::new(low, high, resolution, self.error_rate)
            .expect("the scenario has checked the range");
        let mut test = search.test(self.rules.looks());
        test.threshold = self.rules.verdict.growth;
        while let Some(load) = search.next() {
            let number = self.trials.len() as u64;
            let kept = self.shared.kept;
            // Trials follow from earlier trials, so the trial with the same number has the same load.
            let trial = match kept.and_then(|kept| kept.part::<Trial>(number)) {
                Some(trial) if trial.load == load => trial,
                _ => self.trial(load, number, &test, subject_at(load).as_ref())?,
            };
            // A machine that delivers nothing any more was offered more than it can carry.
            let verdict = match trial.verdict {
                State::Collapsed | State::Saturated => Verdict::Saturated,
                State::Stable => Verdict::Stable,
                State::Undecided | State::Completed | State::Incomplete => Verdict::Undecided,
            };
            search
                .report(load, verdict, trial.growth)
                .expect("the load is the one asked for");
            self.trials.push(trial);
        }
        Ok(search.bracket())
    }

    /// Measure the point at `load`, and store the result under `number` in the journal.
    fn trial(
        &self,
        load: f64,
        number: u64,
        test: &SaturationTest,
        subject: &dyn Subject,
    ) -> Result<Trial, Halt> {
        let began = stopwatch();
        // The trial is stored as a whole, so its parts are not stored.
        let shared = Shared {
            kept: None,
            ..self.shared
        };
        let measurement = measurement::run(subject, self.seed, self.rules, test, false, shared)?;
        let collapsed = measurement.collapse().is_some();
        let trial = Trial {
            load,
            verdict: if collapsed {
                State::Collapsed
            } else {
                measurement.judged.verdict.into()
            },
            growth: measurement.judged.growth(),
            messages: measurement.messages(),
            ended_by: measurement.ended_by,
        };
        if let Some(kept) = self.shared.kept {
            let lasting = trial.ended_by != Some(EndedBy::Memory);
            kept.keep(number, began.elapsed(), || lasting.then_some(&trial))?;
        }
        Ok(trial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bracket(stable: Option<f64>, saturated: Option<f64>) -> Bracket {
        Bracket {
            stable,
            saturated,
            undecided: None,
        }
    }

    #[test]
    fn a_contradicted_end_becomes_unknown() {
        let outer = bracket(Some(2.0), Some(4.0));
        let narrow = narrowed(outer, bracket(Some(2.5), Some(3.0)));
        assert_eq!((narrow.stable, narrow.saturated), (Some(2.5), Some(3.0)));
        let one_sided = narrowed(outer, bracket(Some(2.5), None));
        assert_eq!(
            (one_sided.stable, one_sided.saturated),
            (Some(2.5), Some(4.0))
        );
        let low_saturated = narrowed(outer, bracket(None, Some(2.0)));
        assert_eq!(
            (low_saturated.stable, low_saturated.saturated),
            (None, Some(2.0))
        );
        let high_stable = narrowed(outer, bracket(Some(4.0), None));
        assert_eq!(
            (high_stable.stable, high_stable.saturated),
            (Some(4.0), None)
        );
    }
}
