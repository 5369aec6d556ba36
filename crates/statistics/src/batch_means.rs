//! Confidence interval of a mean from one long run, by batch means.

use crate::error::{Error, all_finite, at_least};
use crate::estimate::{Estimate, mean_and_variance};
use crate::quantile::normal_quantile;

/// Minimum number of batches after merging.
const FEWEST_BATCHES: usize = 16;
/// Maximum number of batches after merging.
const MOST_BATCHES: usize = 40;
/// Probability that the test finds independent batches correlated. Such an error causes unnecessary
/// merging, but does not reduce the coverage of the interval.
const CORRELATION_LEVEL: f64 = 0.1;

/// Return the interval from batch means of a single stationary run, and whether the merged batches
/// pass the test of independence. `samples` of the interval is the number of merged batches.
///
/// The input consists of the means of equal, consecutive batches after the warm-up, ideally a few
/// hundred. They are merged in pairs until their lag-1 correlation is not significantly positive,
/// then on to at most 40 for a margin. The margin is needed because the test has little power
/// against a small correlation that is spread over many batches; Law and Carson (Operations
/// Research 27(5), 1979) merge 400 batches into 40 for the same reason. If 16 to 31 batches are
/// still correlated, the half-width is widened by `sqrt((1 + r) / (1 - r))` (as in Skart: Tafazzoli
/// and Wilson, IIE Transactions 43(2), 2011); then the caller should lengthen the run. Batches that
/// do not fill a merged batch are dropped at the start of the run, where a rest of the warm-up
/// would be.
///
/// # Errors
/// [`Error::TooFew`] for fewer than 16 batches, [`Error::NotFinite`], and
/// [`Error::OutOfRange`] for an impossible confidence.
pub fn batch_means(batches: &[f64], confidence: f64) -> Result<(Estimate, bool), Error> {
    all_finite("batch means", batches)?;
    at_least(
        FEWEST_BATCHES,
        "batch means after the warm-up",
        batches.len(),
    )?;
    let mut means = batches.to_vec();
    let can_merge = |means: &[f64]| means.len() / 2 >= FEWEST_BATCHES;
    while can_merge(&means) && !passes_as_independent(&means)? {
        merge_pairs(&mut means);
    }
    let independent = passes_as_independent(&means)?;
    while can_merge(&means) && means.len() > MOST_BATCHES {
        merge_pairs(&mut means);
    }
    let mut estimate = Estimate::from_samples(&means, confidence)?;
    if !independent {
        let lag1 = lag1_correlation(&means);
        let widening = ((1.0 + lag1) / (1.0 - lag1)).sqrt().max(1.0);
        estimate = Estimate::new(
            estimate.mean,
            estimate.half_width * widening,
            confidence,
            means.len(),
        );
    }
    Ok((estimate, independent))
}

/// Replace adjacent pairs of means by their averages, and drop the first mean of an odd number.
fn merge_pairs(means: &mut Vec<f64>) {
    let odd = means.len() % 2;
    *means = means[odd..]
        .chunks_exact(2)
        .map(|pair| 0.5 * (pair[0] + pair[1]))
        .collect();
}

/// Return the lag-1 correlation of the values, `sum of (x_i - m)(x_(i+1) - m) / sum of (x_i -
/// m)^2`; 0 if the values do not vary.
fn lag1_correlation(values: &[f64]) -> f64 {
    let (mean, variance) = mean_and_variance(values);
    let squares = variance.unwrap_or(0.0) * (values.len() - 1) as f64;
    if squares == 0.0 {
        return 0.0;
    }
    let products: f64 = values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum();
    products / squares
}

/// Return whether values pass the one-sided von Neumann test of independence. For independent
/// normal values `r1 + ((x_1 - m)^2 + (x_n - m)^2) / (2 sum of squares)` has mean 0 and variance
/// `(n - 2) / (n^2 - 1)`.
fn passes_as_independent(values: &[f64]) -> Result<bool, Error> {
    let (mean, variance) = mean_and_variance(values);
    let count = values.len() as f64;
    let squares = variance.unwrap_or(0.0) * (count - 1.0);
    if squares == 0.0 {
        return Ok(true);
    }
    let (first, last) = (values[0] - mean, values[values.len() - 1] - mean);
    let statistic = lag1_correlation(values) + (first * first + last * last) / (2.0 * squares);
    let bound =
        normal_quantile(1.0 - CORRELATION_LEVEL)? * ((count - 2.0) / (count * count - 1.0)).sqrt();
    Ok(statistic <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Checks that the von Neumann test rejects independent samples with its nominal probability of
    /// 10%.
    #[test]
    fn the_von_neumann_test_keeps_its_level() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let (runs, mut rejected) = (2000, 0);
        for _ in 0..runs {
            let values: Vec<f64> = (0..50).map(|_| random.random::<f64>()).collect();
            rejected += u32::from(!passes_as_independent(&values).unwrap());
        }
        // The number of rejections is Binomial(2000, 0.1): mean 200, sigma sqrt(2000 * 0.1 * 0.9) =
        // 13.4; the test allows 4 sigma.
        assert!(
            (146..=254).contains(&rejected),
            "{rejected} of {runs} rejected"
        );
    }

    /// Checks that correlated batches are merged until the interval has the right width. The test
    /// uses values x_i = a x_(i-1) + e_i, which have the lag-1 correlation a. Their mean has a
    /// variance of (1 + a) / (1 - a) times that of independent values.
    #[test]
    fn correlated_batches_are_merged() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut state = 0.0;
        let values: Vec<f64> = (0..1000)
            .map(|_| {
                state = 0.8 * state + random.random::<f64>() - 0.5;
                state
            })
            .collect();
        assert!((lag1_correlation(&values) - 0.8).abs() < 0.1);
        let (estimate, _) = batch_means(&values, 0.95).unwrap();
        let merged = 1000 / estimate.samples;
        assert!(merged >= 25, "1000 batches come down to at most 40");
        let naive = Estimate::from_samples(&values, 0.95).unwrap();
        let ratio = estimate.half_width / naive.half_width;
        assert!(
            (1.5..6.0).contains(&ratio),
            "expected about sqrt(1.8 / 0.2) = 3, got {ratio}"
        );
    }

    /// Checks that a trend in the data fails the test of independence and widens the confidence
    /// interval.
    #[test]
    fn a_trend_is_reported_and_widens_the_interval() {
        let ramp: Vec<f64> = (0..32).map(f64::from).collect();
        let (estimate, independent) = batch_means(&ramp, 0.95).unwrap();
        let pairs: Vec<f64> = (0..16).map(|i| 2.0 * f64::from(i) + 0.5).collect();
        assert!(!independent && lag1_correlation(&pairs) > 0.5);
        let plain = Estimate::from_samples(&pairs, 0.95).unwrap();
        assert!(estimate.half_width > 2.0 * plain.half_width);
    }

    /// Checks that constant data have an interval of width 0, and too few batches are refused.
    #[test]
    fn degenerate_batches() {
        let (constant, independent) = batch_means(&[0.1; 100], 0.95).unwrap();
        assert!(independent);
        assert_eq!((constant.mean, constant.half_width), (0.1, 0.0));
        assert_eq!(
            batch_means(&[1.0; 15], 0.95).unwrap_err().to_string(),
            "batch means after the warm-up: 15 given, at least 16 needed"
        );
    }

    /// Checks that the observations of the warm-up are left out of the batch means.
    #[test]
    fn a_series_is_cut_at_its_warm_up() {
        let mut series = Series::with_capacity(64);
        series.extend((0..300).map(|i| if i < 100 { 1000.0 } else { f64::from(i % 10) }));
        let (estimate, _) = batch_means(&series.batch_means_after(100), 0.95).unwrap();
        assert!((estimate.mean - 4.5).abs() < 1e-12);
        assert!(matches!(
            batch_means(&series.batch_means_after(10_000), 0.95),
            Err(Error::TooFew { got: 0, .. })
        ));
    }
}
