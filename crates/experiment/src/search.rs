//! Search for the saturation load of a machine by bisection, for fixed values of all other fields.

use crate::bracket::narrowed;
use crate::kept::stopwatch;
use crate::measurement;
use crate::replication::{Halt, Shared};
use crate::result::{EndedBy, State, Trial};
use crate::rules::Rules;
use crate::subject::Subject;
use isthmus_statistics::{Bracket, KneeSearch, SaturationTest, Verdict};
use std::sync::Arc;

/// The interval of offered loads in which to search, in the unit of [`crate::result::Load`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    /// Lowest load of the interval.
    pub from: f64,
    /// Highest load of the interval.
    pub to: f64,
    /// Distance between a stable and a saturated load at which the search ends, relative to their middle.
    pub resolution: f64,
}

/// The result of a search for the saturation load.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Found {
    /// The loads that bound the result: the highest stable load, the lowest saturated load, and the range of undecided
    /// loads.
    pub bracket: Bracket,
    /// Whether the distance between the stable and the saturated load is at most the requested width.
    pub reached: bool,
    /// Result at each load that the search tried.
    pub trials: Vec<Trial>,
}

/// Run the search for the saturation load. `subject_at` returns the machine with its workload at a load.
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
    /// Return whether no stable or no saturated load is known, or their distance is larger than requested.
    fn is_too_wide(&self, bracket: Bracket) -> bool {
        match (bracket.stable, bracket.saturated) {
            // The bisection stops once the width is at most the resolution. The factor keeps rounding errors from
            // causing one more step.
            (Some(stable), Some(saturated)) => {
                let width = self.resolution * 0.5 * (stable + saturated);
                saturated - stable > width * (1.0 + 1e-9)
            }
            _ => true,
        }
    }

    /// Return the interval of loads that may contain the saturation load, and the requested width in the unit
    /// of loads.
    fn interval_to_search(&self, bracket: Bracket) -> ((f64, f64), f64) {
        let low = bracket.stable.unwrap_or(self.from);
        let high = bracket.saturated.unwrap_or(self.to);
        ((low, high), self.resolution * 0.5 * (low + high))
    }
}

/// One pass of the search: a bisection of an interval of loads to a given width.
struct Pass<'a> {
    seed: u64,
    /// Stopping rules and other rules for the runs at each load.
    rules: &'a Rules,
    shared: Shared<'a>,
    /// Probability of a wrong verdict, for all loads of the pass together.
    error_rate: f64,
    /// Result at each load of this pass and of the earlier passes.
    trials: &'a mut Vec<Trial>,
}

impl Pass<'_> {
    /// Bisect the interval of loads until the highest stable load and the lowest saturated load are at most
    /// `resolution` apart, and return the two loads.
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
            // The load of a trial follows from the earlier trials, so a stored trial with this number has
            // this load.
            let trial = match kept.and_then(|kept| kept.part::<Trial>(number)) {
                Some(trial) if trial.load == load => trial,
                _ => self.trial(load, number, &test, subject_at(load).as_ref())?,
            };
            // A collapsed machine, which delivers no more messages, counts as saturated.
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

    /// Simulate the machine at `load`, and store the result in the journal as trial `number` of the search.
    fn trial(
        &self,
        load: f64,
        number: u64,
        test: &SaturationTest,
        subject: &dyn Subject,
    ) -> Result<Trial, Halt> {
        let began = stopwatch();
        // The trial is stored as a whole, so its replications are not stored.
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
