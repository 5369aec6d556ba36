//! Interim estimates of a measure, such as a latency, while replications run.

use crate::recorders::Recorders;
use crate::rules::Rules;
use crate::subject::Subject;
use isthmus_scenario::Intervals;
use isthmus_statistics::{Error, Estimate, ReplicationMeans, batch_means};

/// Number of observations that a measure must have in each replication before a run may stop because the
/// measure has the required precision.
const SAMPLES_MIN: u64 = 50;

/// Interim estimate of a measure during a run, or the reason why none exists.
pub(crate) enum Known {
    /// An estimate of the mean, with its confidence interval.
    Estimate(Estimate),
    /// The run has too few observations of the measure so far.
    TooFew,
    /// The workload cannot produce observations of the measure.
    Absent,
}

/// Return the estimate of the measure `name` from the observations so far; `Absent` if there is no such measure.
pub(crate) fn estimate(
    replications: &[&Recorders],
    rules: &Rules,
    subject: &dyn Subject,
    name: &str,
) -> Known {
    let names = subject.measures();
    let Some(at) = names.iter().position(|other| other == name) else {
        return Known::Absent;
    };
    if !subject.occurs(at) {
        return Known::Absent;
    }
    let series = || {
        let recorders = replications.iter();
        recorders.map(|recorders| recorders.latencies[at].series())
    };
    if series().any(|series| series.count() < SAMPLES_MIN) {
        return Known::TooFew;
    }
    match ReplicationMeans::new(series(), rules.warm_up()) {
        // Return no estimate if no end of the warm-up was found: then half of the run is discarded, which
        // may not be enough.
        Ok(means) if !means.warm_up_detected => Known::TooFew,
        Ok(means) => match interval(&means, replications, at, rules) {
            Ok((estimate, true)) => Known::Estimate(estimate),
            Ok((_, false)) | Err(_) => Known::TooFew,
        },
        Err(_) => Known::TooFew,
    }
}

/// Return whether all measures are precise: the half-width of the confidence interval of each is at most
/// `relative` times its mean. Measures that the workload cannot produce are ignored. A mean of few
/// observations counts as precise only if they scatter little.
pub(crate) fn all_within(
    replications: &[&Recorders],
    rules: &Rules,
    subject: &dyn Subject,
    relative: f64,
) -> bool {
    let of = |at: usize| {
        let series = replications
            .iter()
            .map(|recorders| recorders.latencies[at].series());
        let means = ReplicationMeans::new(series, rules.warm_up())?;
        let (estimate, _) = interval(&means, replications, at, rules)?;
        let known = estimate.positive(means.stretch);
        Ok((known.high - known.low) / 2.0 <= relative * known.mean.abs())
    };
    let occurring = (0..subject.measures().len()).filter(|&at| subject.occurs(at));
    occurring
        .map(of)
        .all(|within: Result<bool, Error>| within.unwrap_or(false))
}

/// Return the estimate of the measure at position `at` with its confidence interval, and whether its samples are
/// independent enough for the run to stop.
pub(crate) fn interval(
    means: &ReplicationMeans,
    replications: &[&Recorders],
    at: usize,
    rules: &Rules,
) -> Result<(Estimate, bool), Error> {
    match (rules.stop.intervals, replications) {
        (Intervals::BatchMeans, [only]) => {
            let series = only.latencies[at].series();
            let batches = series.batch_means_after(means.discarded[0]);
            batch_means(&batches, rules.stop.confidence)
        }
        _ => Ok((means.estimate(rules.stop.confidence)?, true)),
    }
}

/// Return the number if it is finite, or else `None`.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
