//! A mean with its confidence interval.

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, all_finite, open_unit};
use crate::quantile::t_quantile;

/// A mean and the two-sided interval that contains the true value with probability
/// `confidence`.
///
/// `low = mean - half_width` and `high = mean + half_width`. A single sample gives an infinite
/// half-width: nothing is known about its spread. In formats without infinities (JSON) the three
/// infinite fields become null and are read back as infinities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Point estimate, in the unit of the samples.
    pub mean: f64,
    /// Half the width of the interval, same unit; infinite for one sample.
    #[serde(deserialize_with = "null_is_infinite")]
    pub half_width: f64,
    /// Lower end, same unit.
    #[serde(deserialize_with = "null_is_minus_infinite")]
    pub low: f64,
    /// Upper end, same unit.
    #[serde(deserialize_with = "null_is_infinite")]
    pub high: f64,
    /// Probability that the interval covers the true value, between 0 and 1.
    pub confidence: f64,
    /// Number of independent samples behind it.
    pub samples: usize,
}

impl Estimate {
    /// The t interval over independent, identically distributed samples, such as the means of
    /// replications: `mean +- t(n-1; (1+confidence)/2) s / sqrt(n)`.
    ///
    /// One sample gives an infinite half-width. Equal samples give a half-width of exactly zero:
    /// that is right for a deterministic or discrete measure, and no evidence otherwise.
    ///
    /// # Errors
    /// [`Error::TooFew`] without samples, [`Error::NotFinite`] for a NaN or an infinity,
    /// [`Error::OutOfRange`] unless `0 < confidence < 1`.
    pub fn from_samples(samples: &[f64], confidence: f64) -> Result<Self, Error> {
        open_unit("confidence", confidence)?;
        all_finite("samples of an interval", samples)?;
        if samples.is_empty() {
            return Err(Error::TooFew {
                what: "samples of an interval",
                got: 0,
                needed: 1,
            });
        }
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

    /// An interval known otherwise; `half_width` must not be negative or NaN.
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

    /// Half-width over the absolute mean; 0 if both are 0, infinite if only the mean is.
    #[must_use]
    pub fn relative_half_width(&self) -> f64 {
        if self.half_width == 0.0 {
            0.0
        } else {
            self.half_width / self.mean.abs()
        }
    }

    /// Whether `value` lies in the closed interval.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The same interval for the measure times `factor`, as in a change of unit.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let half_width = if self.half_width == 0.0 {
            0.0
        } else {
            self.half_width * factor.abs()
        };
        Self::new(
            self.mean * factor,
            half_width,
            self.confidence,
            self.samples,
        )
    }
}

/// Mean and unbiased variance in two passes; no variance for one value. Equal values have a mean
/// equal to them and a variance of exactly zero, which a rounded mean would spoil.
pub(crate) fn mean_and_variance(values: &[f64]) -> (f64, Option<f64>) {
    let count = values.len() as f64;
    if values.iter().all(|value| *value == values[0]) {
        return (values[0], (values.len() > 1).then_some(0.0));
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, Some(squares / (count - 1.0)))
}

fn null_is_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

fn null_is_minus_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NEG_INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 3: mean 2, s = 1, t(2; 0.975) = 2 * 0.475 * sqrt(2 / (4 * 0.975 * 0.025)).
    #[test]
    fn three_samples_by_hand() {
        let t = 2.0 * 0.475 * (2.0f64 / (4.0 * 0.975 * 0.025)).sqrt();
        let estimate = Estimate::from_samples(&[1.0, 2.0, 3.0], 0.95).unwrap();
        assert_eq!(estimate.mean, 2.0);
        assert!((estimate.half_width - t / 3f64.sqrt()).abs() < 1e-7);
        assert!(estimate.contains(2.0) && !estimate.contains(10.0));
        assert!((estimate.relative_half_width() - t / 3f64.sqrt() / 2.0).abs() < 1e-7);
        let halved = estimate.scaled(-0.5);
        assert_eq!(
            (halved.mean, halved.half_width),
            (-1.0, estimate.half_width * 0.5)
        );
    }

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

    #[test]
    fn json_keeps_infinities() {
        for samples in [&[3.0][..], &[1.0, 2.0]] {
            let estimate = Estimate::from_samples(samples, 0.9).unwrap();
            let text = serde_json::to_string(&estimate).unwrap();
            assert_eq!(serde_json::from_str::<Estimate>(&text).unwrap(), estimate);
        }
    }
}
