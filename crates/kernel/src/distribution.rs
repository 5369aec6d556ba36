//! Random distributions that give the same samples on every machine.
//!
//! The exponential distribution comes from `rand_distr` without its `std_math` feature. It then
//! uses the portable `libm` instead of the system's, so that the same seed gives the same bytes on
//! every machine.

use crate::{Cycles, Stream};
use rand_core::Rng;
use rand_distr::{Distribution, Exp1};

/// Return a uniformly distributed random number in [0, 1).
#[inline]
pub fn unit_interval(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 * 2f64.powi(-53)
}

/// A random yes/no decision with a fixed probability of yes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chance {
    /// `None` if the decision is always yes. Otherwise the decision is yes if a random 64-bit
    /// number is below this one.
    below: Option<u64>,
}

impl Chance {
    /// Return a random decision that is yes with `probability`, which is clamped to 0..=1.
    pub fn new(probability: f64) -> Self {
        Self {
            // The product with a power of two is exact, and `as` converts too large values to the
            // maximum.
            below: (probability < 1.0).then_some((probability * 2f64.powi(64)) as u64),
        }
    }

    /// Return whether the decision is always yes.
    pub fn is_certain(self) -> bool {
        self.below.is_none()
    }

    /// Return a random decision. If the decision is always yes, no number is taken from the stream.
    #[inline]
    pub fn draw(self, stream: &mut Stream) -> bool {
        match self.below {
            None => true,
            Some(0) => false,
            Some(below) => stream.next_u64() < below,
        }
    }
}

/// A uniform distribution of integers from 0 up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uniform {
    bound: u32,
}

impl Uniform {
    /// Return the uniform distribution of the integers from 0 to `bound` - 1.
    ///
    /// # Panics
    /// If `bound` is zero.
    pub fn below(bound: u32) -> Self {
        assert!(bound > 0, "an empty range has no uniform distribution");
        Self { bound }
    }

    /// Sample an integer from the uniform distribution. The bias of the multiply-shift method is at
    /// most `bound` / 2^64.
    #[inline]
    pub fn draw(self, stream: &mut Stream) -> u32 {
        ((u128::from(stream.next_u64()) * u128::from(self.bound)) >> 64) as u32
    }
}

/// Return a uniformly distributed random integer below `limit`, which must be above zero. The bias
/// is at most `limit` / 2^64.
#[inline]
pub fn draw_below(limit: u64, stream: &mut Stream) -> u64 {
    ((u128::from(stream.next_u64()) * u128::from(limit)) >> 64) as u64
}

/// Random times between the events of a renewal process, rounded to whole cycles without a change
/// of the mean.
///
/// The remainder of each rounding is carried into the next gap. No gap is longer than [`Gap::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Gap {
    carry: f64,
}

impl Gap {
    /// Longest gap in cycles. The sum of two such gaps and a time up to `MAX` fits into [`Cycles`].
    pub const MAX: Cycles = 1 << 60;

    /// Sample an exponential gap between two events, with a mean of `mean` cycles.
    #[inline]
    pub fn exponential(&mut self, mean: f64, stream: &mut Stream) -> Cycles {
        let sample: f64 = Exp1.sample(stream);
        self.fixed(mean * sample)
    }

    /// Return a gap of `span` cycles between two events, rounded. The rounding error is carried
    /// into the next gap.
    #[inline]
    pub fn fixed(&mut self, span: f64) -> Cycles {
        let exact = (span + self.carry).min(Self::MAX as f64);
        let whole = exact as Cycles;
        self.carry = exact - whole as f64;
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    /// Return a random stream with a fixed seed.
    fn stream() -> Stream {
        Streams::new(1, 0).stream("test", 0)
    }

    /// Checks that exponential gaps have the requested mean and a squared coefficient of variation
    /// of 1.
    #[test]
    fn exponential_gaps_have_the_mean_and_the_variance() {
        let (mut gap, mut stream, n) = (Gap::default(), stream(), 400_000);
        let gaps: Vec<f64> = (0..n)
            .map(|_| gap.exponential(312.5, &mut stream) as f64)
            .collect();
        let mean = gaps.iter().sum::<f64>() / f64::from(n);
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Standard error of the mean: mean / sqrt(n) = 0.49; of C^2: sqrt(8 / n) = 0.0045.
        assert!((mean - 312.5).abs() < 4.0 * 0.5, "{mean}");
        assert!((variance / mean.powi(2) - 1.0).abs() < 4.0 * 0.0045);
    }

    /// Checks that a gap longer than the maximum is shortened to the maximum, and leaves no
    /// rounding error behind.
    #[test]
    fn too_long_gaps_are_shortened() {
        let mut gap = Gap::default();
        for span in [1e19, f64::MAX, f64::INFINITY] {
            assert_eq!(gap.fixed(span), Gap::MAX);
        }
        assert_eq!(gap.fixed(3.5), 3);
    }

    /// Checks that rounding to whole cycles does not change the total of many gaps.
    #[test]
    fn fixed_gaps_keep_their_mean_exactly() {
        let mut gap = Gap::default();
        let total: Cycles = (0..1000).map(|_| gap.fixed(2.125)).sum();
        assert_eq!(total, 2125);
    }

    /// Checks that a decision is yes with the requested probability, including 0 and 1.
    #[test]
    fn chances_have_their_probability() {
        let mut stream = stream();
        let count = |p: f64, stream: &mut Stream| {
            (0..100_000).filter(|_| Chance::new(p).draw(stream)).count() as f64
        };
        assert_eq!(count(0.0, &mut stream), 0.0);
        assert_eq!(count(1.0, &mut stream), 100_000.0);
        // The count may be 4 standard deviations, sqrt(n p (1 - p)) = 69 each, from the mean 5,000.
        assert!((count(0.05, &mut stream) - 5_000.0).abs() < 4.0 * 69.0);
    }

    /// Checks that the integers of a uniform distribution are equally frequent, by a chi-squared
    /// test.
    #[test]
    fn uniform_draws_are_even() {
        let mut stream = stream();
        let mut counts = [0u32; 127];
        for _ in 0..127_000 {
            counts[Uniform::below(127).draw(&mut stream) as usize] += 1;
        }
        // Chi-squared with 126 degrees of freedom: mean 126, standard deviation 15.9.
        let chi2: f64 = counts
            .iter()
            .map(|&c| (f64::from(c) - 1e3).powi(2) / 1e3)
            .sum();
        assert!((chi2 - 126.0).abs() < 4.0 * 15.9, "{chi2}");
    }
}
