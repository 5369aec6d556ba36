//! Arithmetic between results: ratios, differences and means of several results, with confidence
//! intervals.

use serde::{Deserialize, Serialize};

use crate::error::{Error, all_finite, at_least, open_unit};
use crate::estimate::{Estimate, mean_and_variance};

/// A result of an experiment: a value with its confidence interval and its values by replication.
///
/// Replications number i of different results use the same random numbers, as far as they simulate
/// the same system. So much of their errors is common and cancels in their difference. The interval
/// of a value may be wider than its replications show, for example by the width of a histogram bin.
/// This additional width does not cancel. The result of a search for saturation is only an interval
/// (bracket), without replications.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quantity {
    /// The value, in the unit of the result.
    pub value: f64,
    /// Lower end of the interval of the value; `None` if the interval has no lower end.
    pub low: Option<f64>,
    /// Upper end of the interval of the value; `None` if the interval has no upper end. A value
    /// without both ends is exact, unless it is from a single replication, whose error is unknown.
    pub high: Option<f64>,
    /// The value in each replication. The mean of these values is `value`, and their spread is its
    /// spread. Empty for a value that is not from replications.
    #[serde(default)]
    pub each: Vec<f64>,
}

/// An arithmetic operation on results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The first operand divided by the second; neither may be negative.
    Ratio,
    /// The first operand minus the second.
    Difference,
    /// The sum of all operands.
    Sum,
    /// Percentage by which the first operand exceeds the second, which must not be negative.
    PercentMore,
    /// Percentage by which the first operand is below the second.
    PercentLess,
    /// The mean of all operands with these weights.
    Mean(Vec<f64>),
    /// The geometric mean of all operands, which must be positive.
    GeometricMean,
}

impl Quantity {
    /// Return how far the interval of this quantity extends below and above the interval that follows
    /// from its replications alone.
    fn extra_arms(&self, confidence: f64) -> Result<(f64, f64), Error> {
        if self.is_exact() {
            return Ok((0.0, 0.0));
        }
        let (mut plain_low, mut plain_high) = (self.value, self.value);
        if self.each.len() > 1 {
            let own = Estimate::from_samples(&self.each, confidence)?;
            let moved = own.positive(1.0);
            plain_low -= own.half_width;
            plain_high += own.half_width.max(moved.high - own.mean);
        }
        // Use infinity for an end that is missing, whatever the replications are.
        let down = (self.low).map_or(f64::INFINITY, |low| (plain_low - low).max(0.0));
        let up = (self.high).map_or(f64::INFINITY, |high| (high - plain_high).max(0.0));
        Ok((down, up))
    }

    /// Create a quantity whose interval has the given ends; an infinite end counts as missing. A
    /// quantity without any end or replication gets a single replication, so that it does not count
    /// as exact.
    fn with_ends(value: f64, (low, high): (f64, f64), mut each: Vec<f64>) -> Self {
        let finite = |end: f64| end.is_finite().then_some(end);
        let (low, high) = (finite(low.min(value)), finite(high.max(value)));
        if low.is_none() && high.is_none() && each.is_empty() {
            each.push(value);
        }
        Self {
            value,
            low,
            high,
            each,
        }
    }

    /// Return a quantity with an exact value.
    fn exact(value: f64) -> Self {
        Self {
            value,
            low: None,
            high: None,
            each: Vec::new(),
        }
    }

    /// Return whether the value is exact: without an interval and without replications.
    fn is_exact(&self) -> bool {
        self.low.is_none() && self.high.is_none() && self.each.is_empty()
    }
}

/// Return the result of `operation` on these quantities, with an interval at this confidence;
/// `None` if it has no value, such as a ratio to zero.
///
/// If all operands with replications have the same number of them, they are compared in pairs,
/// since replications number i of all operands use the same random numbers. Otherwise they are
/// compared by the ends of their intervals, for the largest possible errors.
///
/// Comparing several alternatives with one base at an overall confidence `1 - a` needs each at
/// `1 - a / comparisons` (Bonferroni).
///
/// # Errors
/// [`Error::TooFew`] for fewer operands than the operation needs, [`Error::NotFinite`], and
/// [`Error::OutOfRange`] for an impossible confidence.
pub fn compare(
    operation: &Operation,
    operands: &[Quantity],
    confidence: f64,
) -> Result<Option<Quantity>, Error> {
    open_unit("confidence", confidence)?;
    for operand in operands {
        all_finite("quantities compared", &[operand.value])?;
        let ends: Vec<f64> = [operand.low, operand.high].into_iter().flatten().collect();
        all_finite("ends of quantities compared", &ends)?;
        all_finite("replications compared", &operand.each)?;
    }
    let needed = match operation {
        Operation::Sum | Operation::GeometricMean => 1,
        Operation::Mean(weights) => weights.len().max(1),
        _ => 2,
    };
    at_least(needed, "quantities compared", operands.len())?;
    let operands = paired(operands);
    match operation {
        Operation::Ratio => quotient(&operands[0], &operands[1], confidence),
        Operation::PercentMore => {
            let ratio = quotient(&operands[0], &operands[1], confidence)?;
            Ok(ratio.map(|ratio| percent(&ratio, 1.0)))
        }
        Operation::PercentLess => {
            let ratio = quotient(&operands[0], &operands[1], confidence)?;
            Ok(ratio.map(|ratio| percent(&ratio, -1.0)))
        }
        Operation::Difference => weighted_sum(&operands[..2], &[1.0, -1.0], confidence).map(Some),
        Operation::Sum => weighted_sum(&operands, &vec![1.0; operands.len()], confidence).map(Some),
        Operation::Mean(weights) => {
            let total: f64 = weights.iter().sum();
            let weights: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
            weighted_sum(&operands, &weights, confidence).map(Some)
        }
        Operation::GeometricMean => geometric_mean(&operands, confidence),
    }
}

/// Return the operands as they are if their replications can be compared in pairs: each has the same number, at
/// least two. Otherwise return copies with one replication at most, which callers do not compare in pairs.
fn paired(operands: &[Quantity]) -> Vec<Quantity> {
    let mut lengths = operands.iter().map(|operand| operand.each.len());
    let most = lengths.clone().max().unwrap_or(0);
    let matched = most > 1 && lengths.all(|length| length == most || length < 2);
    let without = |operand: &Quantity| Quantity {
        each: operand.each.iter().take(1).copied().collect(),
        ..operand.clone()
    };
    if matched {
        operands.to_vec()
    } else {
        operands.iter().map(without).collect()
    }
}

/// Return the values of an operand by replication, or copies of its value if it has none.
fn replications(operand: &Quantity, count: usize) -> Vec<f64> {
    if operand.each.len() < 2 {
        vec![operand.value; count]
    } else {
        operand.each.clone()
    }
}

/// Return the largest number of replications among the operands.
fn replication_count(operands: &[Quantity]) -> usize {
    let lengths = operands.iter().map(|operand| operand.each.len());
    lengths.max().filter(|most| *most > 1).unwrap_or(0)
}

/// Return the weighted sum of the operands, with its confidence interval.
fn weighted_sum(
    operands: &[Quantity],
    weights: &[f64],
    confidence: f64,
) -> Result<Quantity, Error> {
    let both = || operands.iter().zip(weights);
    let value = both().map(|(operand, weight)| weight * operand.value).sum();
    if operands.iter().all(Quantity::is_exact) {
        return Ok(Quantity::exact(value));
    }
    let (mut down, mut up) = (0.0, 0.0);
    for (operand, &weight) in both() {
        let (below, above) = operand.extra_arms(confidence)?;
        let (below, above) = if weight >= 0.0 {
            (below, above)
        } else {
            (above, below)
        };
        // Skip an operand of weight zero: zero times an infinite interval width would be NaN.
        if weight != 0.0 {
            down += weight.abs() * below;
            up += weight.abs() * above;
        }
    }
    let count = replication_count(operands);
    let mut each = vec![0.0; count];
    for (operand, weight) in both() {
        let own = replications(operand, count);
        each.iter_mut()
            .zip(own)
            .for_each(|(sum, own)| *sum += weight * own);
    }
    let half = match count {
        0 => 0.0,
        _ => Estimate::from_samples(&each, confidence)?.half_width,
    };
    Ok(Quantity::with_ends(
        value,
        (value - half - down, value + half + up),
        each,
    ))
}

/// Return the first operand divided by the second; `None` unless both are positive, or the first is
/// zero and the second positive.
fn quotient(
    first: &Quantity,
    second: &Quantity,
    confidence: f64,
) -> Result<Option<Quantity>, Error> {
    if first.value < 0.0 || second.value <= 0.0 {
        return Ok(None);
    }
    let value = first.value / second.value;
    if first.is_exact() && second.is_exact() {
        return Ok(Some(Quantity::exact(value)));
    }
    let operands = [first.clone(), second.clone()];
    let count = replication_count(&operands);
    let (a, b) = (replications(first, count), replications(second, count));
    let (low, high) = if count == 0 {
        (value, value)
    } else {
        quotient_ends(&a, &b, confidence)?
    };
    let ((a_below, a_above), (b_below, b_above)) = (
        first.extra_arms(confidence)?,
        second.extra_arms(confidence)?,
    );
    // Widen the interval by the largest errors that the replications do not show: multiply the lower
    // end by `down` and add `up` to the upper end. The error of the first operand is divided by the
    // second operand, so that the first may be zero.
    let down = (1.0 - a_below / first.value).max(0.0) / (1.0 + b_above / second.value);
    let room = 1.0 - b_below / second.value;
    let low = if first.value > 0.0 {
        low.max(0.0) * down
    } else {
        0.0
    };
    let high = if room <= 0.0 {
        f64::INFINITY
    } else {
        (high + a_above / second.value) / room
    };
    let pairs = a.iter().zip(&b);
    let each = pairs.map(|(a, b)| value + (a - value * b) / second.value);
    Ok(Some(Quantity::with_ends(
        value,
        (low.max(0.0), high),
        each.collect(),
    )))
}

/// Return the interval of the ratio of two means, the second of which is positive, with paired
/// replications. It consists of all quotients q for which the paired t interval of `first - q
/// second` contains zero (Fieller, Journal of the Royal Statistical Society B 16(2), 1954). The
/// ends are infinite if the interval of the second mean contains zero.
fn quotient_ends(first: &[f64], second: &[f64], confidence: f64) -> Result<(f64, f64), Error> {
    let half = |values: &[f64]| {
        Estimate::from_samples(values, confidence).map(|estimate| estimate.half_width)
    };
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let (a, b) = (mean_and_variance(first).0, mean_and_variance(second).0);
    let (a_half, b_half, both) = (half(first)?, half(second)?, half(&differences)?);
    if !(b > b_half && both.is_finite()) {
        return Ok((f64::NEG_INFINITY, f64::INFINITY));
    }
    // Compute the covariance of the two means from Var(a - b) = Var a + Var b - 2 Cov. All half-widths, and so
    // also this covariance, contain the factor t^2 of the t distribution.
    let covariance = 0.5 * (a_half * a_half + b_half * b_half - both.powi(2));
    // Solve for the smallest and the largest ratio q that satisfy the quadratic inequality
    // (a - q b)^2 <= a_half^2 - 2 q covariance + q^2 b_half^2.
    let square = b * b - b_half * b_half;
    let middle = a * b - covariance;
    let root = middle * middle - square * (a * a - a_half * a_half);
    let root = root.max(0.0).sqrt();
    Ok(((middle - root) / square, (middle + root) / square))
}

/// Return a ratio as a change in percent; `sign` is 1 for an increase and -1 for a decrease.
fn percent(ratio: &Quantity, sign: f64) -> Quantity {
    let change = |ratio: f64| 100.0 * sign * (ratio - 1.0);
    let ends = (ratio.low.map(change), ratio.high.map(change));
    let (low, high) = if sign > 0.0 { ends } else { (ends.1, ends.0) };
    Quantity {
        value: change(ratio.value),
        low,
        high,
        each: ratio.each.iter().map(|each| change(*each)).collect(),
    }
}

/// Return the geometric mean; `None` unless all are positive. Its logarithm is the mean of the
/// logarithms of the operands.
fn geometric_mean(operands: &[Quantity], confidence: f64) -> Result<Option<Quantity>, Error> {
    if operands.iter().any(|operand| operand.value <= 0.0) {
        return Ok(None);
    }
    let logarithm = |operand: &Quantity| Quantity {
        value: operand.value.ln(),
        low: operand.low.filter(|low| *low > 0.0).map(f64::ln),
        high: operand.high.map(f64::ln),
        each: (operand.each.iter())
            .map(|each| operand.value.ln() + (each / operand.value - 1.0))
            .collect(),
    };
    let logarithms: Vec<Quantity> = operands.iter().map(logarithm).collect();
    let mean = weighted_sum(
        &logarithms,
        &vec![1.0 / operands.len() as f64; operands.len()],
        confidence,
    )?;
    let value = mean.value.exp();
    Ok(Some(Quantity {
        value,
        low: mean.low.map(f64::exp),
        high: mean.high.map(f64::exp),
        each: (mean.each.iter())
            .map(|each| value * (1.0 + each - mean.value))
            .collect(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a quantity whose value in each replication is given by `each`.
    fn sampled(each: &[f64]) -> Quantity {
        let estimate = Estimate::from_samples(each, 0.95).unwrap();
        Quantity {
            value: estimate.mean,
            low: Some(estimate.low),
            high: Some(estimate.high),
            each: each.to_vec(),
        }
    }

    /// Return a quantity with an interval and without replications.
    fn bracket(value: f64, low: f64, high: f64) -> Quantity {
        Quantity {
            low: Some(low),
            high: Some(high),
            ..Quantity::exact(value)
        }
    }

    /// Return the result of an operation at a confidence of 95 %.
    fn one(operation: &Operation, operands: &[Quantity]) -> Quantity {
        compare(operation, operands, 0.95).unwrap().unwrap()
    }

    /// Noise of six replications, with a mean of zero.
    const NOISE: [f64; 6] = [5.0, -3.0, 8.0, 0.0, -6.0, -4.0];

    /// Return a quantity whose replications are `mean` plus `scale` times the common `NOISE`.
    fn noisy(mean: f64, scale: f64) -> Quantity {
        sampled(&NOISE.map(|noise| mean + scale * noise))
    }

    /// Checks that noise which two results have in common, by replication, cancels in their difference.
    /// In their ratio it cancels if it is proportional to the values.
    #[test]
    fn common_errors_of_paired_results_cancel() {
        let (a, b) = (noisy(102.0, 1.0), noisy(100.0, 1.0));
        let difference = one(&Operation::Difference, &[a.clone(), b.clone()]);
        assert!((difference.value - 2.0).abs() < 1e-9);
        assert!(difference.high.unwrap() - difference.low.unwrap() < 1e-6);
        let own = a.high.unwrap() - a.low.unwrap();
        assert!(own > 10.0, "each by itself is known to {own}");
        let twice = one(&Operation::Ratio, &[noisy(200.0, 2.0), b.clone()]);
        assert!((twice.value - 2.0).abs() < 1e-9);
        assert!(twice.high.unwrap() - twice.low.unwrap() < 1e-6);
        let more = one(&Operation::PercentMore, &[noisy(200.0, 2.0), b.clone()]);
        let less = one(&Operation::PercentLess, &[noisy(200.0, 2.0), b]);
        assert!((more.value - 100.0).abs() < 1e-9 && (less.value + 100.0).abs() < 1e-9);
        assert!(less.low.unwrap() <= less.value && less.value <= less.high.unwrap());
    }

    /// Checks the interval of a ratio a / b by its definition: if q is an end of the interval, the mean
    /// of a - q b differs from zero by exactly the half-width of its own interval.
    #[test]
    fn quotients_end_where_the_paired_difference_is_significant() {
        let second = [10.0, 12.0, 9.0, 11.0, 13.0];
        let first = [21.0, 23.5, 18.0, 22.5, 25.5];
        let (low, high) = quotient_ends(&first, &second, 0.95).unwrap();
        assert!(
            low < 2.01 && 2.01 < high && high - low < 0.2,
            "{low} {high}"
        );
        for end in [low, high] {
            let pairs = first.iter().zip(&second);
            let differences: Vec<f64> = pairs.map(|(a, b)| a - end * b).collect();
            let found = Estimate::from_samples(&differences, 0.95).unwrap();
            assert!((found.mean.abs() / found.half_width - 1.0).abs() < 1e-9);
        }
        let twice = second.map(|value| 2.0 * value);
        let (low, high) = quotient_ends(&twice, &second, 0.95).unwrap();
        assert!((low - 2.0).abs() < 1e-6 && (high - 2.0).abs() < 1e-6);
        let nothing = [0.1, -3.0, 4.0, 0.0, 0.0];
        let (low, high) = quotient_ends(&first, &nothing, 0.95).unwrap();
        assert!(low.is_infinite() && high.is_infinite());
    }

    /// Checks that results are compared by the ends of their intervals if they have different numbers
    /// of replications, or if one is an interval without replications.
    #[test]
    fn unpaired_results_are_compared_by_their_ends() {
        let (a, b) = (bracket(4.0, 3.0, 5.0), bracket(2.0, 1.5, 2.5));
        let ratio = one(&Operation::Ratio, &[a.clone(), b.clone()]);
        assert!((ratio.low.unwrap() - 3.0 / 2.5).abs() < 1e-12);
        assert!((ratio.high.unwrap() - 5.0 / 1.5).abs() < 1e-12);
        let difference = one(&Operation::Difference, &[a.clone(), b]);
        assert_eq!((difference.low, difference.high), (Some(0.5), Some(3.5)));
        let short = sampled(&[2.0, 2.5, 3.0]);
        let sum = one(&Operation::Sum, &[noisy(100.0, 1.0), short.clone()]);
        let expected = noisy(100.0, 1.0).high.unwrap() + short.high.unwrap();
        assert!((sum.high.unwrap() - expected).abs() < 1e-9 && sum.each.is_empty());
        let single = Quantity {
            each: vec![3.0],
            ..Quantity::exact(3.0)
        };
        let unknown = one(&Operation::Difference, &[a.clone(), single]);
        assert_eq!(
            (unknown.value, unknown.low, unknown.high),
            (1.0, None, None)
        );
        // Use a result without an interval in another operation: it must not count as exact.
        let on = one(&Operation::Sum, &[unknown, bracket(4.0, 3.0, 5.0)]);
        assert_eq!((on.value, on.low, on.high), (5.0, None, None));
        assert!(!on.is_exact());
        let open = Quantity { high: None, ..a };
        let open = one(&Operation::Ratio, &[open, Quantity::exact(2.0)]);
        assert_eq!((open.low, open.high), (Some(1.5), None));
    }

    /// Checks that the interval of a result has no upper end if that of an operand has none, for
    /// differences and ratios.
    #[test]
    fn results_without_an_end_stay_without_one() {
        let wide = Quantity {
            high: None,
            ..sampled(&[1.0, 9.0])
        };
        let zero = Quantity::exact(0.0);
        let difference = one(&Operation::Difference, &[wide.clone(), zero]);
        assert_eq!(difference.high, None);
        let ratio = one(&Operation::Ratio, &[wide.clone(), Quantity::exact(1.0)]);
        assert_eq!(ratio.high, None);
        let other = one(&Operation::Difference, &[Quantity::exact(0.0), wide]);
        assert_eq!(other.low, None);
    }

    /// Checks that operations on exact numbers give exact results, and a division by an exact
    /// number only scales the interval.
    #[test]
    fn exact_numbers_stay_exact() {
        let (six, two) = (Quantity::exact(6.0), Quantity::exact(2.0));
        let ratio = one(&Operation::Ratio, &[six.clone(), two.clone()]);
        assert_eq!(ratio, Quantity::exact(3.0));
        let scaled = one(&Operation::Ratio, &[noisy(100.0, 1.0), two.clone()]);
        let own = noisy(100.0, 1.0);
        assert!((scaled.high.unwrap() - own.high.unwrap() / 2.0).abs() < 1e-9);
        assert!((scaled.low.unwrap() - own.low.unwrap() / 2.0).abs() < 1e-9);
        let zero = Quantity::exact(0.0);
        assert_eq!(
            compare(&Operation::Ratio, &[six, zero], 0.95).unwrap(),
            None
        );
        assert!(compare(&Operation::Ratio, &[two], 0.95).is_err());
    }

    /// Checks that a difference keeps the extra interval width of both operands, such as that of
    /// histogram bins of width 3, although the replications are compared in pairs.
    #[test]
    fn additional_widths_do_not_cancel() {
        let wide = |mean: f64| {
            let own = noisy(mean, 1.0);
            Quantity {
                low: own.low.map(|low| low - 3.0),
                high: own.high.map(|high| high + 3.0),
                ..own
            }
        };
        let difference = one(&Operation::Difference, &[wide(102.0), wide(100.0)]);
        let width = difference.high.unwrap() - difference.low.unwrap();
        // The upper half of the interval of a positive measure is wider; that must not widen both sides.
        assert!((9.0..=12.0 + 1e-6).contains(&width), "{width}");
    }

    /// Checks the geometric mean and the weighted mean of several quantities. The geometric mean of
    /// 2 and 8 is 4; the mean of 10 and 20 with the weights 1 and 3 is 17.5.
    #[test]
    fn means_of_several() {
        let both = [noisy(200.0, 1.0), noisy(800.0, 4.0)];
        let geometric = one(&Operation::GeometricMean, &both);
        assert!((geometric.value - 400.0).abs() < 1e-9);
        let relative = (geometric.high.unwrap() / geometric.low.unwrap()).ln() / 2.0;
        let own = 0.5 * (both[0].high.unwrap() - both[0].low.unwrap()) / 200.0;
        assert!(
            (relative - own).abs() < 5e-4,
            "{relative} {own}: all err alike"
        );
        let mean = one(
            &Operation::Mean(vec![1.0, 3.0]),
            &[noisy(10.0, 0.1), noisy(20.0, -0.1 / 3.0)],
        );
        assert!((mean.value - 17.5).abs() < 1e-9);
        assert!(
            mean.high.unwrap() - mean.low.unwrap() < 1e-6,
            "their errors cancel"
        );
    }
}
