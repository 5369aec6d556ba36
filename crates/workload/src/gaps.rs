//! Random gaps between arrivals: one implementation for PEs, packets and jobs.

use crate::jobs::spec::Spread;
use isthmus_kernel::{Cycles, Gap, Stream, unit_interval};

/// Distribution of the gaps between arrivals around their mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Gaps {
    /// All gaps are equal. The time before the first arrival is uniform between 0 and `phases`
    /// gaps.
    Equal { phases: f64 },
    /// Exponential gaps.
    Exponential,
    /// Gaps that are uniform between zero and twice the mean.
    Uniform,
}

impl Gaps {
    /// Draw the gap before the first arrival.
    #[cold]
    pub(crate) fn first(self, mean: f64, gap: &mut Gap, stream: &mut Stream) -> Cycles {
        match self {
            Self::Equal { phases } => {
                let phase = unit_interval(stream);
                gap.fixed(mean * phases * phase)
            }
            _ => self.next(mean, gap, stream),
        }
    }

    /// Draw the gap between two arrivals.
    #[inline(always)]
    pub(crate) fn next(self, mean: f64, gap: &mut Gap, stream: &mut Stream) -> Cycles {
        match self {
            Self::Equal { .. } => gap.fixed(mean),
            Self::Exponential => gap.exponential(mean, stream),
            Self::Uniform => gap.fixed(2.0 * mean * unit_interval(stream)),
        }
    }
}

impl From<Spread> for Gaps {
    /// Return the gap distribution for the configured spread of a random quantity around its mean.
    fn from(spread: Spread) -> Self {
        match spread {
            Spread::Fixed => Self::Equal { phases: 1.0 },
            Spread::Exponential => Self::Exponential,
            Spread::Uniform => Self::Uniform,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isthmus_kernel::Streams;

    /// Checks the means of 200,000 gaps and their squared coefficients of variation: 0, 1 and 1/3.
    #[test]
    fn gaps_keep_their_mean_and_spread() {
        let n = 200_000;
        let cases = [
            (Gaps::Equal { phases: 0.4 }, 0.0),
            (Gaps::Exponential, 1.0),
            (Gaps::Uniform, 1.0 / 3.0),
        ];
        for (gaps, expected) in cases {
            let (mut gap, mut stream) = (Gap::default(), Streams::new(3, 0).stream("gaps", 1));
            let mean = 1234.5;
            let first = gaps.first(mean, &mut gap, &mut stream) as f64;
            if let Gaps::Equal { phases } = gaps {
                assert!(first <= phases * mean);
            }
            let drawn = (0..n).map(|_| gaps.next(mean, &mut gap, &mut stream) as f64);
            let drawn: Vec<f64> = drawn.collect();
            let found = drawn.iter().sum::<f64>() / f64::from(n);
            let squares = drawn.iter().map(|gap| (gap - found).powi(2)).sum::<f64>();
            let scv = squares / f64::from(n) / found.powi(2);
            assert!((found / mean - 1.0).abs() < 0.01, "{gaps:?} {found}");
            assert!((scv - expected).abs() < 0.02, "{gaps:?} {scv}");
        }
    }
}
