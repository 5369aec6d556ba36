//! Incomplete observations at the end of a replication, such as unfinished phases: whether they are
//! significant, and whether they make a mean too low.

use crate::recorders::Recorders;
use crate::subject::Unended;
use isthmus_kernel::Cycles;

/// Share of incomplete observations older than the mean, above which the confidence interval of the mean has
/// no upper end.
const LATE_MAX: f64 = 0.05;
/// Share of the observations of a replication above which incomplete ones are significant. Fewer are normal:
/// a closed loop has messages in flight at the end of every run.
const COUNTED_MIN: f64 = 0.01;

/// Return whether so large a share of the `ages` exceeds `mean`, the mean of the `used` completed
/// observations, that this mean is too low by an unknown amount.
pub(crate) fn are_late(ages: impl Iterator<Item = Cycles>, mean: f64, used: u64) -> bool {
    let late = ages.filter(|&age| age as f64 > mean).count();
    late as f64 > LATE_MAX * used as f64
}

/// Return the incomplete observations of those measures of which a significant share is incomplete.
pub(crate) fn counted(mut unended: Vec<Unended>, recorders: &Recorders) -> Vec<Unended> {
    let mut counts = vec![0_u64; recorders.latencies.len()];
    unended.iter().for_each(|cut| counts[cut.measure] += 1);
    let ended = |measure: usize| recorders.latencies[measure].series().count() as f64;
    unended.retain(|cut| counts[cut.measure] as f64 > COUNTED_MIN * ended(cut.measure));
    unended
}

/// Return whether the incomplete observations make the mean of some measure too low by an unknown amount, so
/// that its confidence interval has no upper end.
pub(crate) fn leaves_late(unended: &[Unended], recorders: &[&Recorders]) -> bool {
    let measures = recorders.first().map_or(0, |one| one.latencies.len());
    (0..measures).any(|at| {
        let series = recorders.iter().map(|one| one.latencies[at].series());
        let (count, sum) = series.fold((0, 0.0), |(count, sum), series| {
            (count + series.count(), sum + series.sum())
        });
        let ages = unended.iter().filter(|cut| cut.measure == at);
        count > 0 && are_late(ages.map(|cut| cut.age), sum / count as f64, count)
    })
}
