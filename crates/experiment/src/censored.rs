//! Censored observations: phases and messages that are incomplete when a run ends.
//!
//! A mean without them is too low: if a machine falls behind, the longest phases are the unfinished ones. Of
//! each censored observation only a lower bound is known: its age at the end of the run.

use crate::measurement::Measurement;
use crate::replication::Finished;
use crate::result::Measure;
use crate::rules::Rules;
use crate::unended;
use isthmus_kernel::Cycles;
use isthmus_statistics::{Estimate, PercentileEstimate, Summary, percentile_estimates};

/// A number of cycles that stands for infinity: it is larger than any observed duration.
const ENDLESS: u64 = 1 << 62;

/// The censored observations of one measure: durations that were incomplete when the run ended.
pub(crate) struct CensoredObservations<'a> {
    replications: &'a [Finished],
    /// Index of the measure in the list that [`Subject::measures`](crate::subject::Subject::measures) returns.
    measure: usize,
}

impl<'a> CensoredObservations<'a> {
    /// Select the censored observations of one measure, given by its position among the measures.
    pub fn new(measurement: &'a Measurement, measure: usize) -> Self {
        Self {
            replications: &measurement.replications,
            measure,
        }
    }

    /// Return the age in cycles, at the end of one replication, of each of its censored observations.
    fn ages(&self, replication: &'a Finished) -> impl Iterator<Item = Cycles> + use<'a> {
        let measure = self.measure;
        let of = replication.unended.iter();
        of.filter(move |observation| observation.measure == measure)
            .map(|observation| observation.age)
    }

    /// Return the age in cycles, at the end of its run, of each censored observation of all replications.
    fn all_ages(&self) -> impl Iterator<Item = Cycles> {
        self.replications.iter().flat_map(|one| self.ages(one))
    }

    /// Return the number of censored observations, in all replications together.
    pub fn count(&self) -> u64 {
        self.all_ages().count() as u64
    }

    /// Return the sum of the ages of the censored observations at the end of the run, in cycles.
    pub fn total_age(&self) -> f64 {
        self.all_ages().map(|age| age as f64).sum()
    }

    /// Return whether a large share of the censored observations is older than the mean of the completed ones, so that
    /// this mean is too low by an unknown amount. `mean` is in cycles, over `used` observations.
    pub fn is_late(&self, mean: f64, used: u64) -> bool {
        unended::are_late(self.all_ages(), mean, used)
    }

    /// Return percentiles in cycles that include the censored observations, for the measure with this `summary`. The
    /// value and the lower end of an interval treat censored observations as completed at the end of the run. The upper
    /// end treats them as longer than all completed ones.
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

    /// Return the result of a measure if a replication has no completed observations: a lower bound and no mean. Return
    /// `None` if no observation is censored.
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
