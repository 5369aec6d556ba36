//! Observations that the end of a run cuts off: unfinished phases, and incomplete messages of closed loops.
//!
//! A mean without them is too low: if a machine falls behind, the longest phases are the unfinished ones.
//! They are censored observations: each lasts longer than its age at the end of the run.

use crate::measurement::Measurement;
use crate::replication::Finished;
use crate::result::Measure;
use crate::rules::Rules;
use crate::unended;
use isthmus_kernel::Cycles;
use isthmus_statistics::{Estimate, PercentileEstimate, Summary, percentile_estimates};

/// A duration longer than any observation.
const ENDLESS: u64 = 1 << 62;

/// Observations of one measure that the end of the run cut off.
pub(crate) struct CutOff<'a> {
    replications: &'a [Finished],
    /// Position of the measure in [`Subject::measures`](crate::subject::Subject::measures).
    measure: usize,
}

impl<'a> CutOff<'a> {
    /// Return the cut-off observations of the measure at position `measure`.
    pub fn new(measurement: &'a Measurement, measure: usize) -> Self {
        Self {
            replications: &measurement.replications,
            measure,
        }
    }

    /// Return the ages of the cut-off observations of one replication.
    fn ages(&self, replication: &'a Finished) -> impl Iterator<Item = Cycles> + use<'a> {
        let measure = self.measure;
        let of = replication.unended.iter();
        of.filter(move |cut| cut.measure == measure)
            .map(|cut| cut.age)
    }

    /// Return the ages of the cut-off observations of all replications.
    fn all_ages(&self) -> impl Iterator<Item = Cycles> {
        self.replications.iter().flat_map(|one| self.ages(one))
    }

    /// Return the number of cut-off observations, in all replications together.
    pub fn count(&self) -> u64 {
        self.all_ages().count() as u64
    }

    /// Return the sum of the ages of the cut-off observations at the end of the run, in cycles.
    pub fn total_age(&self) -> f64 {
        self.all_ages().map(|age| age as f64).sum()
    }

    /// Return whether many cut-off observations are older than `mean`, the mean in cycles of the `used`
    /// completed observations. Such a mean is too low by an unknown amount.
    pub fn is_late(&self, mean: f64, used: u64) -> bool {
        unended::are_late(self.all_ages(), mean, used)
    }

    /// Return the percentiles of the measure with this `summary`, in cycles. The value and the lower end of
    /// an interval treat cut-off observations as completed at the end of the run. The upper end treats them
    /// as longer than all others.
    pub fn percentiles(
        &self,
        summary: &Summary,
        rules: &Rules,
        least_stretch: f64,
    ) -> Vec<PercentileEstimate> {
        if self.count() == 0 {
            return summary.percentiles.clone();
        }
        let steady = least_stretch <= 1.0;
        let with = |longer: bool| {
            let each = self
                .replications
                .iter()
                .zip(&summary.replications.discarded);
            let histograms: Vec<_> = each
                .map(|(finished, &discarded)| {
                    let recorder = &finished.recorders.latencies[self.measure];
                    let mut histogram = recorder.histogram_after(discarded);
                    for age in self.ages(finished) {
                        histogram.record(if longer { ENDLESS } else { age });
                    }
                    histogram
                })
                .collect();
            let percents = &rules.measure.percentiles;
            percentile_estimates(&histograms, percents, rules.stop.confidence, steady)
        };
        let (Ok(shorter), Ok(longer)) = (with(false), with(true)) else {
            return summary.percentiles.clone();
        };
        let each = shorter.into_iter().zip(longer).zip(&summary.percentiles);
        each.map(|((shorter, longer), ended)| PercentileEstimate {
            high: if ended.high.is_finite() && longer.high < ENDLESS as f64 / 2.0 {
                longer.high
            } else {
                f64::INFINITY
            },
            ..shorter
        })
        .collect()
    }

    /// Return a measure that has no completed observation in some replication: it has a lower bound and no
    /// mean. Return `None` if no observation was cut off either.
    pub fn alone(&self, name: &str, confidence: f64, cycle_us: f64) -> Option<Measure> {
        let unended = self.count();
        if unended == 0 {
            return None;
        }
        let means = self.replications.iter().map(|finished| {
            let mut series = finished.recorders.latencies[self.measure].series().clone();
            self.ages(finished).for_each(|age| series.push(age as f64));
            series.mean()
        });
        let means: Vec<f64> = means.collect::<Option<_>>()?;
        let at_least = Estimate::from_samples(&means, confidence).ok()?;
        let ended = self.replications.iter();
        Some(Measure {
            name: name.to_owned(),
            unit: "us".to_owned(),
            low: Some(at_least.mean * cycle_us),
            samples: ended
                .map(|finished| finished.recorders.latencies[self.measure].series().count())
                .sum(),
            unended,
            ..Measure::default()
        })
    }
}
