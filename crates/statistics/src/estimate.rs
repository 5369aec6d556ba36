//! A mean with its confidence interval.

use crate::error::{Error, all_finite, at_least, open_unit};
use crate::quantile::t_quantile;

/// A mean with its two-sided confidence interval, which contains the true value with probability
/// `confidence`.
///
/// `low = mean - half_width` and `high = mean + half_width`, with two exceptions.
/// [`Estimate::positive`] moves both ends upwards. [`Estimate::of_rate`] has arms of different
/// lengths, and its half-width is half the width of the interval. A single sample gives an infinite
/// half-width, since its spread is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Point estimate, in the unit of the samples.
    pub mean: f64,
    /// Half the width of the interval, in the same unit; infinite for one sample.
    pub half_width: f64,
    /// Lower end of the interval, in the unit of the samples.
    pub low: f64,
    /// Upper end of the interval, in the unit of the samples.
    pub high: f64,
    /// Probability that the interval contains the true value, between 0 and 1.
    pub confidence: f64,
    /// Number of independent samples.
    pub samples: usize,
}

impl Estimate {
    /// Return the t interval over independent, identically distributed samples, such as the means
    /// of replications: `mean +- t(n-1; (1+confidence)/2) s / sqrt(n)`.
    ///
    /// One sample gives an infinite half-width. Equal samples give a half-width of exactly zero.
    /// This is correct for a deterministic or discrete measure; for other measures, equal samples
    /// do not prove that the mean is exact.
    ///
    /// # Errors
    /// [`Error::TooFew`] without samples, [`Error::NotFinite`] for a NaN or an infinity,
    /// [`Error::OutOfRange`] unless `0 < confidence < 1`.
    pub fn from_samples(samples: &[f64], confidence: f64) -> Result<Self, Error> {
        open_unit("confidence", confidence)?;
        all_finite("samples of an interval", samples)?;
        at_least(1, "samples of an interval", samples.len())?;
        let (mean, variance) = mean_and_variance(samples);
        let half_width = match variance {
            None => f64::INFINITY,
            Some(0.0) => 0.0,
            Some(variance) => {
                let t = t_quantile(0.5 + 0.5 * confidence, samples.len() - 1)?;
                t * (variance / samples.len() as f64).sqrt()
            }
        };
        Ok(Self::new(mean, half_width, confidence, samples.len()))
    }

    /// Create an estimate whose interval has the given half-width, which must not be negative or
    /// NaN.
    pub(crate) fn new(mean: f64, half_width: f64, confidence: f64, samples: usize) -> Self {
        debug_assert!(half_width >= 0.0);
        Self {
            mean,
            half_width,
            low: mean - half_width,
            high: mean + half_width,
            confidence,
            samples,
        }
    }

    /// Return an estimate with the same mean and the interval from `low` to `high`.
    pub(crate) fn between(self, low: f64, high: f64) -> Self {
        Self {
            half_width: 0.5 * (high - low),
            low,
            high,
            ..self
        }
    }

    /// Return the half-width divided by the absolute mean; 0 if both are 0, infinite if only the
    /// mean is 0.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        if self.half_width == 0.0 {
            0.0
        } else {
            self.half_width / self.mean.abs()
        }
    }

    /// Return whether `value` lies in the closed interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Return the interval of a measure that cannot be negative and whose spread grows with its
    /// mean, such as a latency. With h the relative half-width, the interval goes from `mean / (1 +
    /// h)` to `mean / (1 - stretch h)`, or to infinity if that is not positive. Half-width and mean
    /// do not change.
    ///
    /// The samples of such a measure are skewed to the right, and samples that happen to be low
    /// also scatter little. So an interval with equal arms often lies below the true value.
    /// `stretch`, at least 1, lengthens the upper arm for samples from runs that are short relative
    /// to their correlation time. An infinite `stretch` removes the upper end, unless the samples
    /// do not vary.
    #[must_use]
    pub fn positive(&self, stretch: f64) -> Self {
        let relative = self.relative_half_width();
        if self.mean <= 0.0 || relative == 0.0 {
            return Self {
                low: self.low.max(0.0),
                ..*self
            };
        }
        let above = 1.0 - stretch * relative;
        Self {
            low: self.mean / (1.0 + relative),
            high: if above > 0.0 {
                self.mean / above
            } else {
                f64::INFINITY
            },
            ..*self
        }
    }

    /// Return the estimate of the measure multiplied by a positive `factor`, as in a change of
    /// unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        debug_assert!(factor > 0.0);
        Self {
            mean: self.mean * factor,
            half_width: self.half_width * factor,
            low: self.low * factor,
            high: self.high * factor,
            ..*self
        }
    }
}

/// Return the mean and the unbiased variance, computed in two passes; the variance of one value is
/// `None`. Equal values have a mean equal to them and a variance of exactly zero, which a rounded
/// mean would spoil.
pub(crate) fn mean_and_variance(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    if values.iter().all(|value| *value == values[0]) {
        return (values[0], (values.len() > 1).then_some(0.0));
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, Some(squares / (count - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the values 1, 2, 3 by hand: mean 2, s = 1, t(2; 0.975) = 2 * 0.475 * sqrt(2 / (4 *
    /// 0.975 * 0.025)).
    #[test]
    fn three_samples_by_hand() {
        let t = 2.0 * 0.475 * (2.0f64 / (4.0 * 0.975 * 0.025)).sqrt();
        let estimate = Estimate::from_samples(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!(estimate.mean, 2.0);
        assert!((estimate.half_width - t / 3f64.sqrt()).abs() < 1e-7);
        assert!(estimate.contains(2.0) && !estimate.contains(10.0));
        assert!((estimate.relative_half_width() - t / 3f64.sqrt() / 2.0).abs() < 1e-7);
        let halved = estimate.scaled(0.5);
        assert_eq!(
            (halved.mean, halved.half_width, halved.high),
            (1.0, estimate.half_width * 0.5, estimate.high * 0.5)
        );
    }

    /// Checks that a single sample has an infinite interval, equal samples have one of width 0, and
    /// NaN is refused.
    #[test]
    fn degenerate_samples_are_handled_openly() {
        let one = Estimate::from_samples(&[3.0], 0.95).unwrap();
        assert_eq!(
            (one.mean, one.half_width, one.samples),
            (3.0, f64::INFINITY, 1)
        );
        assert_eq!((one.low, one.high), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(one.relative_half_width(), f64::INFINITY);

        let equal = Estimate::from_samples(&[0.1; 7], 0.95).unwrap();
        assert_eq!((equal.mean, equal.half_width), (0.1, 0.0));
        let zero = Estimate::from_samples(&[0.0; 7], 0.95).unwrap();
        assert_eq!(zero.relative_half_width(), 0.0);
        let centred = Estimate::from_samples(&[-1.0, 1.0], 0.95).unwrap();
        assert_eq!(centred.relative_half_width(), f64::INFINITY);

        assert!(matches!(
            Estimate::from_samples(&[], 0.95),
            Err(Error::TooFew { .. })
        ));
        let nan = Estimate::from_samples(&[1.0, f64::NAN], 0.95).unwrap_err();
        assert_eq!(
            nan.to_string(),
            "samples of an interval: value number 1 is NaN, all must be finite"
        );
        for confidence in [0.0, 1.0, 95.0, f64::NAN] {
            assert!(Estimate::from_samples(&[1.0, 2.0], confidence).is_err());
        }
    }

    /// Checks that the interval of a positive measure extends further upwards than downwards. The
    /// relative half-width is a quarter, so the ends are 4 / 1.25 and 4 / 0.75, or 4 / 0.5 with a
    /// stretch of 2.
    #[test]
    fn positive_measures_have_a_longer_upper_arm() {
        let estimate = Estimate::new(4.0, 1.0, 0.95, 10);
        let (plain, wider) = (estimate.positive(1.0), estimate.positive(2.0));
        assert_eq!((plain.low, plain.high), (3.2, 4.0 / 0.75));
        assert_eq!((wider.low, wider.high, wider.half_width), (3.2, 8.0, 1.0));
        let rough = Estimate::new(4.0, 5.0, 0.95, 2).positive(1.0);
        assert!(rough.low > 0.0 && rough.high.is_infinite());
        let zero = Estimate::new(0.0, 0.0, 0.95, 10).positive(1.5);
        assert_eq!((zero.low, zero.high), (0.0, 0.0));
        let one = Estimate::from_samples(&[3.0], 0.95).unwrap().positive(1.0);
        assert_eq!((one.low, one.high), (0.0, f64::INFINITY));
    }
}
