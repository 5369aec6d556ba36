//! Detection of the end of the warm-up of runs.

use crate::error::{Error, all_finite};
use crate::series::Series;

/// Minimum number of batches for MSER, and minimum number of batches after the truncation point: the statistic of MSER
/// is meaningless for a few values. White, Cobb and Spratt ("A comparison of five steady-state truncation heuristics
/// for simulation", WSC 2000) omit the last five batches for that reason.
const FEWEST_BATCHES: usize = 10;
/// Minimum number of batches after the truncation point.
const FEWEST_LEFT: usize = 5;

/// Rule that determines the observations to discard at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUp {
    /// MSER-5 with a margin: the rule applies [`mser`] to the average of the replications and doubles the result. It
    /// discards at least a tenth and at most half of the run, the same number of observations in all replications.
    ///
    /// Plain MSER tends to cut after a chance excursion, so that the rest starts below its mean. For an M/M/1 queue at
    /// rho = 0.8 and ten replications of 10,000 customers, intervals of 95 % cover 84.4 % with MSER in each replication
    /// by itself, and 93.6 % with MSER over the average. They cover 94.4 % with the margin in addition, which costs 6 %
    /// of the half-width.
    Mser,
    /// Discard exactly the observations before [`Series::mark`].
    Marked,
}

/// The point at which the start of a run is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// Number of observations to discard. If the end of the warm-up was not detected, this is half of the run.
    pub observations: u64,
    /// Whether the end of the warm-up was found in the first half of the run. If not, the run is too short and should
    /// be lengthened.
    pub detected: bool,
}

/// Return the truncation point by MSER over means of consecutive batches of `batch_size`
/// observations each. MSER discards the d batches that minimise the squared standard error of the
/// rest,
///
/// `MSER(d) = sum over i > d of (x_i - mean of those x)^2 / (n - d)^2`
///
/// (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69(6), 1997). Of
/// equal minima the first is used; the last five values of d are omitted. With a minimum in the second half, or fewer
/// than ten batches, the end is not detected.
///
/// # Errors
/// [`Error::NotFinite`] for a NaN or an infinity.
pub fn mser(batch_means: &[f64], batch_size: u64) -> Result<Truncation, Error> {
    all_finite("batch means", batch_means)?;
    let count = batch_means.len();
    let fallback = Truncation {
        observations: (count as u64).div_ceil(2) * batch_size,
        detected: false,
    };
    if count < FEWEST_BATCHES {
        return Ok(fallback);
    }
    let mut best = (f64::INFINITY, count);
    let (mut mean, mut squares) = (0.0, 0.0);
    for start in (0..count).rev() {
        let left = (count - start) as f64;
        let delta = batch_means[start] - mean;
        mean += delta / left;
        squares += delta * (batch_means[start] - mean);
        let statistic = squares / (left * left);
        if count - start > FEWEST_LEFT && statistic <= best.0 {
            best = (statistic, start);
        }
    }
    if best.1 > count / 2 {
        return Ok(fallback);
    }
    Ok(Truncation {
        observations: best.1 as u64 * batch_size,
        detected: true,
    })
}

impl WarmUp {
    /// Return the truncation point of each replication of a measure under this rule.
    ///
    /// # Errors
    /// [`Error::NotFinite`] for batches with a NaN or an infinity, [`Error::NotMarked`] if the rule needs a mark and it
    /// is missing.
    pub fn truncations(&self, replications: &[&Series]) -> Result<Vec<Truncation>, Error> {
        match self {
            Self::Mser => {
                let truncation = mser_of_average(replications)?;
                Ok(vec![truncation; replications.len()])
            }
            Self::Marked => {
                let numbered = replications.iter().enumerate();
                let marked = numbered.map(|(replication, series)| {
                    let marked_at = series.marked_at();
                    Ok(Truncation {
                        observations: marked_at.ok_or(Error::NotMarked { replication })?,
                        detected: true,
                    })
                });
                marked.collect()
            }
        }
    }
}

/// Return the truncation point by MSER with its margin, computed from the batch means averaged over replications. The
/// batches have the largest size of any replication, and their number is that of the shortest replication.
fn mser_of_average(replications: &[&Series]) -> Result<Truncation, Error> {
    let size = replications
        .iter()
        .map(|series| series.batch_size())
        .max()
        .unwrap_or(1);
    let batches: Vec<Vec<f64>> = replications
        .iter()
        .map(|series| series.batch_means_of(size))
        .collect();
    let shortest = batches.iter().map(Vec::len).min().unwrap_or(0);
    let average: Vec<f64> = (0..shortest)
        .map(|index| batches.iter().map(|means| means[index]).sum::<f64>() / batches.len() as f64)
        .collect();
    let found = mser(&average, size)?;
    let batches = |count: usize| count as u64 * size;
    Ok(Truncation {
        observations: (2 * found.observations)
            .max(batches(shortest.div_ceil(10)))
            .min(batches(shortest.div_ceil(2))),
        detected: found.detected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Return the number of batches to discard, computed from the definition of MSER literally.
    fn naive(values: &[f64]) -> usize {
        let statistic = |d: usize| {
            let rest = &values[d..];
            let mean = rest.iter().sum::<f64>() / rest.len() as f64;
            rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
        };
        (0..values.len() - FEWEST_LEFT)
            .min_by(|a, b| statistic(*a).total_cmp(&statistic(*b)))
            .unwrap()
    }

    /// Return the truncation point by MSER-5 for plain observations. Up to four observations at the end that fill no
    /// batch are omitted.
    fn mser5(observations: &[f64]) -> Result<Truncation, Error> {
        let fives = observations.chunks_exact(5);
        let means: Vec<f64> = fives.map(|five| five.iter().sum::<f64>() / 5.0).collect();
        mser(&means, 5)
    }

    proptest! {
        /// Checks that the fast MSER computation gives the same result as a direct computation of the definition.
        #[test]
        fn agrees_with_the_definition(
            transient in prop::collection::vec(0.0..50.0f64, 0..40),
            steady in prop::collection::vec(0.0..5.0f64, 10..80),
        ) {
            let values = [transient, steady].concat();
            let expected = naive(&values);
            let found = mser(&values, 5).unwrap();
            if expected > values.len() / 2 {
                prop_assert!(!found.detected);
                prop_assert_eq!(found.observations, values.len().div_ceil(2) as u64 * 5);
            } else {
                prop_assert_eq!(found, Truncation { observations: expected as u64 * 5, detected: true });
            }
        }
    }

    /// Checks that MSER finds the end of a step in the data. Observations that step from 100 to an alternating 0, 1
    /// after 50 observations must be cut exactly at the step.
    #[test]
    fn a_step_is_cut_where_it_ends() {
        let values: Vec<f64> = (0..1000)
            .map(|i| if i < 50 { 100.0 } else { f64::from(i % 2) })
            .collect();
        let cut = mser5(&values).unwrap();
        assert_eq!(
            cut,
            Truncation {
                observations: 50,
                detected: true
            }
        );
    }

    /// Checks that no end of the warm-up is found in data that increase up to the end.
    #[test]
    fn growth_without_end_is_not_detected() {
        let ramp: Vec<f64> = (0..1000).map(f64::from).collect();
        let cut = mser5(&ramp).unwrap();
        assert_eq!(
            cut,
            Truncation {
                observations: 500,
                detected: false
            }
        );
        assert!(!mser(&[1.0; 9], 5).unwrap().detected, "too few to decide");
        assert!(!mser(&[], 5).unwrap().detected);
        assert!(matches!(
            mser(&[1.0, f64::NAN], 5),
            Err(Error::NotFinite { index: 1, .. })
        ));
    }

    /// Checks that no observations of constant data are discarded.
    #[test]
    fn constant_data_needs_no_warm_up() {
        let cut = mser5(&[0.1; 500]).unwrap();
        assert_eq!(
            cut,
            Truncation {
                observations: 0,
                detected: true
            }
        );
    }

    /// Checks that MSER over several replications discards twice the longest detected warm-up, at least a tenth and at
    /// most half of the run.
    #[test]
    fn mser_over_replications_keeps_a_margin() {
        let with_step = |step: u32, count: u32| {
            let mut series = Series::new();
            series.extend((0..count).map(|i| if i < step { 100.0 } else { f64::from(i % 2) }));
            series
        };
        let cut = |replications: &[&Series]| WarmUp::Mser.truncations(replications).unwrap()[0];
        let (early, late) = (with_step(50, 1000), with_step(150, 1000));
        let at = |observations| Truncation {
            observations,
            detected: true,
        };
        assert_eq!(cut(&[&early]), at(100), "a tenth");
        assert_eq!(cut(&[&early, &late]), at(300), "twice the longest");
        assert_eq!(cut(&[&with_step(400, 1000)]), at(500), "half");
    }

    /// Checks that a marked warm-up needs a mark in every replication, and MSER discards half of the shorter run if it
    /// finds no end.
    #[test]
    fn warm_up_rules_handle_unequal_replications() {
        let mut short = Series::with_capacity(8);
        let mut long = Series::with_capacity(8);
        short.extend((0..30).map(f64::from));
        long.extend((0..100).map(f64::from));
        long.mark();
        long.push(1.0);
        let both = [&short, &long];
        assert_eq!((short.batch_size(), long.batch_size()), (5, 20));
        assert_eq!(
            WarmUp::Marked.truncations(&both).unwrap_err(),
            Error::NotMarked { replication: 0 }
        );
        assert_eq!(
            WarmUp::Marked.truncations(&[&long]).unwrap()[0].observations,
            100
        );
        // Both series are ramps without an end of the warm-up in the 7 and 5 batches, so half of the shorter run is
        // discarded.
        let cuts = WarmUp::Mser.truncations(&both).unwrap();
        assert_eq!([cuts[0].observations, cuts[1].observations], [20, 20]);
    }
}
