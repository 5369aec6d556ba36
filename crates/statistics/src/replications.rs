//! Summary of one measure over all replications of a point, which is one parameter setting of an
//! experiment.

use crate::error::{Error, all_finite};
use crate::estimate::Estimate;
use crate::histogram::Histogram;
use crate::percentile::{PercentileEstimate, percentile_estimates};
use crate::recorder::Recorder;
use crate::sections::{sections, stretch};
use crate::series::Series;
use crate::warm_up::WarmUp;

/// The means of replications after their warm-up, in the order of the replications.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicationMeans {
    /// Mean of each replication after its warm-up, in the unit of the observations.
    pub means: Vec<f64>,
    /// Number of observations discarded in each replication.
    pub discarded: Vec<u64>,
    /// Number of observations after the warm-up, in each replication.
    pub used: Vec<u64>,
    /// Means of equal sections of the replications, one replication after the other, or `None` if
    /// the sections do not pass the test of independence; see [`estimate`](Self::estimate).
    pub sections: Option<Vec<f64>>,
    /// Whether the end of the warm-up was found. If not, half of each run is discarded, and the
    /// runs should be lengthened.
    pub warm_up_detected: bool,
    /// Factor by which the upper arm of the confidence interval of the mean is lengthened, see
    /// [`Estimate::positive`]. It is 1 if the runs are long relative to the correlation time of
    /// their observations. It is infinite if the runs are too short to decide that, or if the end
    /// of the warm-up was not found.
    pub stretch: f64,
}

impl ReplicationMeans {
    /// Remove the warm-up of each replication of one measure by the rule `warm_up`, and compute the
    /// means of the rest.
    ///
    /// # Errors
    /// [`Error::NothingAfterWarmUp`] if a replication is left empty, otherwise as
    /// [`WarmUp::truncations`].
    pub fn new<'a>(
        replications: impl IntoIterator<Item = &'a Series>,
        warm_up: WarmUp,
    ) -> Result<Self, Error> {
        let replications: Vec<&Series> = replications.into_iter().collect();
        let truncations = warm_up.truncations(&replications)?;
        let mut result = Self {
            means: Vec::with_capacity(replications.len()),
            discarded: Vec::with_capacity(replications.len()),
            used: Vec::with_capacity(replications.len()),
            sections: None,
            warm_up_detected: truncations.iter().all(|truncation| truncation.detected),
            stretch: f64::INFINITY,
        };
        for (replication, (series, truncation)) in replications.iter().zip(&truncations).enumerate()
        {
            let rest = match warm_up {
                WarmUp::Marked => series.after_mark(),
                WarmUp::Mser => series.after(truncation.observations),
            };
            let (used, mean) = rest.ok_or(Error::NothingAfterWarmUp {
                replication,
                discarded: truncation.observations,
                observations: series.count(),
            })?;
            result.means.push(mean);
            result.used.push(used);
            result.discarded.push(truncation.observations);
        }
        all_finite("replication means", &result.means)?;
        let batches: Vec<Vec<f64>> = replications
            .iter()
            .zip(&result.discarded)
            .map(|(series, discarded)| series.batch_means_after(*discarded))
            .collect();
        result.sections = sections(&batches)?;
        if result.warm_up_detected {
            result.stretch = stretch(&batches);
        }
        Ok(result)
    }

    /// Return the mean of the means of replications, with a t interval from as many samples as the
    /// data allow.
    ///
    /// Replications have equal weight, whatever their length. With fewer than 40 of them the
    /// half-width comes from about 40 sections (`ceil(40 / replications)` in each), if these pass
    /// as independent (lag-1 correlation, analysis of variance). This makes the estimate of the
    /// spread more precise, which shortens the interval. Above all, a sequential rule then stops
    /// less often on a spread that is underestimated by chance: for M/M/1 at rho = 0.5, with ten
    /// replications lengthened to a half-width of 3 %, the intervals cover the mean in 94.6 %
    /// instead of 92.8 % of the runs, with a tenth less work. Otherwise, and always with fewer than
    /// 2 or at least 40 replications, the result is that of
    /// [`estimate_from_means`](Self::estimate_from_means).
    ///
    /// # Errors
    /// Those of [`Estimate::from_samples`].
    pub fn estimate(&self, confidence: f64) -> Result<Estimate, Error> {
        let plain = self.estimate_from_means(confidence)?;
        let Some(sections) = &self.sections else {
            return Ok(plain);
        };
        let finer = Estimate::from_samples(sections, confidence)?;
        Ok(Estimate::new(
            plain.mean,
            finer.half_width,
            confidence,
            sections.len(),
        ))
    }

    /// Return the classic t interval over the means of the replications alone.
    ///
    /// # Errors
    /// Those of [`Estimate::from_samples`].
    pub fn estimate_from_means(&self, confidence: f64) -> Result<Estimate, Error> {
        Estimate::from_samples(&self.means, confidence)
    }
}

/// All results for one measure at one point of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Mean of the measure with its interval over replications, in the unit of the observations,
    /// which cannot be negative: see [`Estimate::positive`].
    pub mean: Estimate,
    /// The mean and the number of discarded observations of each replication.
    pub replications: ReplicationMeans,
    /// The requested percentiles, in the order of the request.
    pub percentiles: Vec<PercentileEstimate>,
    /// Distribution of all observations after the warm-up, over all replications.
    pub histogram: Histogram,
}

impl Summary {
    /// Summarise the replications of one measure, which must be in a fixed order. `least_stretch` is
    /// the least factor by which the upper arms of intervals are lengthened; the factor is larger if
    /// the replications turn out to be short. `least_stretch` is 1 for a known steady state. If it
    /// is larger and the end of the warm-up was not detected, percentiles have no upper end.
    ///
    /// # Errors
    /// Those of [`ReplicationMeans::new`], [`Estimate::from_samples`] and [`percentile_estimates`].
    pub fn of<'a>(
        replications: impl IntoIterator<Item = &'a Recorder>,
        warm_up: WarmUp,
        percentiles: &[f64],
        confidence: f64,
        least_stretch: f64,
    ) -> Result<Self, Error> {
        let recorders: Vec<&Recorder> = replications.into_iter().collect();
        let means =
            ReplicationMeans::new(recorders.iter().map(|recorder| recorder.series()), warm_up)?;
        let stretch = means.stretch.max(least_stretch);
        let histograms: Vec<Histogram> = recorders
            .iter()
            .zip(&means.discarded)
            .map(|(recorder, discarded)| recorder.histogram_after(*discarded))
            .collect();
        let mut histogram = Histogram::new();
        for replication in &histograms {
            histogram.merge(replication);
        }
        let steady = least_stretch <= 1.0;
        let mut percentiles = percentile_estimates(&histograms, percentiles, confidence, steady)?;
        if !steady && !means.warm_up_detected {
            // Without a steady state, larger values may still follow: percentiles get no upper end.
            for percentile in &mut percentiles {
                percentile.remove_upper_end();
            }
        }
        Ok(Self {
            mean: means.estimate(confidence)?.positive(stretch),
            percentiles,
            replications: means,
            histogram,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a recorder of `count` observations: 50 of 1000, then `level` and `level + 10`
    /// alternately.
    fn with_transient(count: u64, level: u64) -> Recorder {
        let mut recorder = Recorder::new();
        (0..count).for_each(|i| {
            recorder.push(if i < 50 { 1000 } else { level + (i % 2) * 10 });
        });
        recorder
    }

    /// Checks that the MSER rule removes the initial transient from the mean, the percentiles and
    /// the histogram.
    #[test]
    fn mser_removes_the_transient_from_mean_and_percentiles() {
        let replications = [with_transient(4000, 20), with_transient(4000, 24)];
        let summary = Summary::of(&replications, WarmUp::Mser, &[50.0], 0.95, 1.0).unwrap();
        assert_eq!(summary.replications.discarded, [400, 400]);
        assert_eq!(summary.replications.means, [25.0, 29.0]);
        assert_eq!(summary.mean.mean, 27.0);
        assert_eq!(summary.percentiles[0].value, 24.0);
        assert_eq!(summary.histogram.max(), Some(34));
        assert!(summary.replications.warm_up_detected);
    }

    /// Checks that percentiles have no upper end if the values of a measure grow until the end of
    /// the run: no steady state is visible. If a steady state is known to exist, they have one.
    #[test]
    fn percentiles_of_a_growing_run_have_no_upper_end() {
        let growing = |from: u64| {
            let mut recorder = Recorder::new();
            (0..4000).for_each(|i| recorder.push(from + i / 4));
            recorder
        };
        let replications: Vec<Recorder> = (1..=4).map(growing).collect();
        let of = |least| Summary::of(&replications, WarmUp::Mser, &[50.0], 0.95, least).unwrap();
        let (unknown, steady) = (of(2.0), of(1.0));
        assert!(!unknown.replications.warm_up_detected);
        assert!(unknown.percentiles[0].high.is_infinite());
        assert!(steady.percentiles[0].high.is_finite());
        assert_eq!(unknown.percentiles[0].low, steady.percentiles[0].low);
    }

    /// Checks that if the end of the warm-up was marked, exactly the observations before the mark
    /// are discarded.
    #[test]
    fn marked_replications_are_cut_exactly() {
        let mut recorder = with_transient(53, 20);
        recorder.mark();
        recorder.push(6);
        recorder.push(8);
        let summary = Summary::of([&recorder], WarmUp::Marked, &[], 0.95, 1.0).unwrap();
        assert_eq!(summary.replications.means, [7.0]);
        assert_eq!(
            (
                summary.replications.discarded[0],
                summary.replications.used[0]
            ),
            (53, 2)
        );
        assert_eq!(summary.histogram.count(), 2);
    }

    /// Checks that an error about a replication without observations, or about a NaN, names the
    /// replication or the observation.
    #[test]
    fn errors_name_the_invalid_replication() {
        let mut replications = [with_transient(100, 20), with_transient(60, 20)];
        replications.iter_mut().for_each(Recorder::mark);
        replications[0].push(20);
        let error = Summary::of(&replications, WarmUp::Marked, &[], 0.95, 1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "replication 1: nothing is left after a warm-up of 60 observations out of 60; \
             lengthen the run or shorten the warm-up"
        );
        let mut poisoned = Series::new();
        poisoned.mark();
        poisoned.extend([1.0, f64::NAN, 1.0]);
        assert!(matches!(
            ReplicationMeans::new([&poisoned], WarmUp::Marked),
            Err(Error::NotFinite { index: 0, .. })
        ));
        let none = ReplicationMeans::new([], WarmUp::Mser).unwrap();
        assert!(matches!(none.estimate(0.95), Err(Error::TooFew { .. })));
    }
}
