//! Finds the load at which one combination of the other fields saturates.

use crate::measurement;
use crate::replication::{Halt, Shared};
use crate::result::Trial;
use crate::rules::Rules;
use crate::subject::Subject;
use isthmus_statistics::{Bracket, KneeSearch, KneeStep, Verdict};
use std::sync::Arc;

/// The interval of loads to search, in the unit of [`crate::result::Load`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Range {
    pub from: f64,
    pub to: f64,
    /// Width of the bracket asked for, relative to its middle.
    pub resolution: f64,
}

/// What a search has found.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Found {
    pub bracket: Bracket,
    pub trials: Vec<Trial>,
}

/// Runs the search; `subject_at` gives the point at a load.
pub(crate) fn run(
    range: &Range,
    seed: u64,
    rules: &Rules,
    subject_at: impl Fn(f64) -> Arc<dyn Subject>,
    shared: Shared<'_>,
) -> Result<Found, Halt> {
    let error_rate = rules.verdict.error_rate;
    let mut trials = Vec::new();
    // The resolution asked for is relative to where the knee is, which a first pass finds out.
    let middle = (range.from * range.to).sqrt();
    let mut pass = Pass {
        seed,
        rules,
        shared,
        error_rate: error_rate / 2.0,
        trials: &mut trials,
    };
    let mut bracket = pass.run(
        (range.from, range.to),
        range.resolution * middle,
        &subject_at,
    )?;
    if let (Some(stable), Some(saturated)) = (bracket.stable, bracket.saturated) {
        let resolution = range.resolution * 0.5 * (stable + saturated);
        if bracket.undecided.is_none() && saturated - stable > resolution {
            let inner = pass.run((stable, saturated), resolution, &subject_at)?;
            bracket.stable = inner.stable.or(bracket.stable);
            bracket.saturated = inner.saturated.or(bracket.saturated);
            bracket.undecided = inner.undecided;
        }
    }
    Ok(Found { bracket, trials })
}

/// One search with a fixed width at the end.
struct Pass<'a> {
    seed: u64,
    rules: &'a Rules,
    shared: Shared<'a>,
    error_rate: f64,
    trials: &'a mut Vec<Trial>,
}

impl Pass<'_> {
    fn run(
        &mut self,
        (low, high): (f64, f64),
        resolution: f64,
        subject_at: &impl Fn(f64) -> Arc<dyn Subject>,
    ) -> Result<Bracket, Halt> {
        let mut search = KneeSearch::new(low, high, resolution, self.error_rate)
            .expect("the scenario has checked the range");
        let mut test = search.test(self.rules.looks());
        test.threshold = self.rules.verdict.growth;
        while let KneeStep::Test { load } = search.next() {
            let subject = subject_at(load);
            let measurement = measurement::run(
                subject.as_ref(),
                self.seed,
                self.rules,
                &test,
                false,
                self.shared,
            )?;
            let growth = measurement.judgement.map_or(0.0, |j| j.growth.mean);
            // What delivers nothing any more has been asked for more than it can carry.
            let (verdict, words) = match measurement.collapse() {
                Some(_) => (Verdict::Saturated, "collapsed".to_owned()),
                None => (measurement.verdict, measurement.verdict.to_string()),
            };
            self.trials.push(Trial {
                load,
                verdict: words,
                growth,
                messages: measurement.messages(),
                ended_by: measurement.ended_by.map(|by| by.name().to_owned()),
            });
            search
                .report(load, verdict, growth)
                .expect("the load is the one asked for");
        }
        Ok(search.bracket())
    }
}
