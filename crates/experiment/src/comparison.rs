//! Comparison of measured quantities by their ratio, difference or mean, with confidence intervals.

use isthmus_statistics::{Error, Operation, Quantity, compare};
use serde::{Deserialize, Serialize};

/// A request to compute a ratio, a difference or a mean of measured quantities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Operation to compute, such as a ratio or a difference.
    pub operation: Operation,
    /// Operands of the operation, in order.
    pub operands: Vec<Quantity>,
    /// Confidence level of the interval of the result and of the intervals of intermediate results.
    pub confidence: f64,
}

impl Question {
    /// Compute the result. Return `None` if it is undefined, such as a ratio to zero.
    ///
    /// # Errors
    /// The same errors as [`isthmus_statistics::compare`].
    pub fn answer(&self) -> Result<Option<Quantity>, Error> {
        compare(&self.operation, &self.operands, self.confidence)
    }
}

/// Pairs of measured quantities that are tested for differences at one joint confidence level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pairs {
    /// The pairs of quantities. The difference of a pair is the second quantity minus the first.
    pub pairs: Vec<[Quantity; 2]>,
    /// Confidence level of each interval, and joint confidence level of the tests of all pairs.
    pub confidence: f64,
}

/// Comparison of the two quantities of a pair: their difference, their ratio, and whether they differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The second quantity minus the first.
    pub difference: Quantity,
    /// The second quantity divided by the first; `None` if the ratio is undefined.
    pub ratio: Option<Quantity>,
    /// Whether the two quantities differ, at the joint confidence level of all pairs.
    pub differs: bool,
}

impl Pairs {
    /// Return the comparison of each pair. If in truth no pair differs, the probability that any pair is
    /// reported to differ is at most `1 - confidence`: each pair is judged at `1 - (1 - confidence) / pairs`
    /// (Bonferroni).
    ///
    /// # Errors
    /// The same errors as [`isthmus_statistics::compare`].
    pub fn answer(&self) -> Result<Vec<Compared>, Error> {
        let strict = 1.0 - (1.0 - self.confidence) / self.pairs.len().max(1) as f64;
        self.pairs
            .iter()
            .map(|[first, second]| {
                let operands = [second.clone(), first.clone()];
                let under = |operation, confidence| compare(&operation, &operands, confidence);
                let missing = "a difference has a value";
                Ok(Compared {
                    difference: under(Operation::Difference, self.confidence)?.expect(missing),
                    ratio: under(Operation::Ratio, self.confidence)?,
                    differs: excludes_zero(&under(Operation::Difference, strict)?.expect(missing)),
                })
            })
            .collect()
    }
}

/// Return whether an interval is entirely on one side of zero. An exact number counts as an interval of width
/// zero.
fn excludes_zero(difference: &Quantity) -> bool {
    match (difference.low, difference.high) {
        (None, None) => difference.each.is_empty() && difference.value != 0.0,
        (low, high) => low.is_some_and(|low| low > 0.0) || high.is_some_and(|high| high < 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return a quantity with this value in each of four replications, and the confidence interval of the
    /// mean.
    fn of(each: [f64; 4]) -> Quantity {
        Quantity {
            value: each.iter().sum::<f64>() / 4.0,
            low: Some(each.iter().copied().fold(f64::INFINITY, f64::min) - 1.0),
            high: Some(each.iter().copied().fold(0.0, f64::max) + 1.0),
            each: each.to_vec(),
        }
    }

    /// Checks the Bonferroni correction by the statistic t of the differences in four replications. For a
    /// test of 1, 6 and 1000 pairs, t must exceed 3.18, 6.2 and 35. Differences of 0, 2, 1 and 1 give t =
    /// 2.45, which is too small for any test. Differences of 4, 6, 5 and 5 give 12.2, enough for one pair or
    /// six.
    #[test]
    fn a_test_of_many_pairs_is_stricter_than_a_test_of_one_pair() {
        let base = of([10.0, 20.0, 30.0, 40.0]);
        let little = of([10.0, 22.0, 31.0, 41.0]);
        let much = of([14.0, 26.0, 35.0, 45.0]);
        let judged = |pair: [&Quantity; 2], count: usize| {
            let pairs = Pairs {
                pairs: vec![pair.map(Clone::clone); count],
                confidence: 0.95,
            };
            pairs.answer().unwrap().remove(0)
        };
        assert!(!judged([&base, &little], 1).differs);
        assert!(judged([&base, &much], 1).differs);
        assert!(judged([&base, &much], 6).differs);
        assert!(!judged([&base, &much], 1000).differs);
        let found = judged([&base, &much], 6);
        assert!((found.difference.value - 5.0).abs() < 1e-12);
        assert!((found.ratio.unwrap().value - 1.2).abs() < 1e-12);
        assert!(!judged([&base, &base], 1).differs);
    }

    /// Checks that exact numbers (without intervals) differ if and only if they are not equal.
    #[test]
    fn exact_numbers_differ_if_they_are_not_equal() {
        let exact = |value| Quantity {
            value,
            low: None,
            high: None,
            each: Vec::new(),
        };
        let pairs = Pairs {
            pairs: vec![[exact(2.0), exact(3.0)], [exact(2.0), exact(2.0)]],
            confidence: 0.95,
        };
        let found = pairs.answer().unwrap();
        assert!(found[0].differs && !found[1].differs);
        // The error cannot be estimated from one replication.
        let single = Quantity {
            each: vec![9.0],
            ..exact(9.0)
        };
        let pairs = Pairs {
            pairs: vec![[exact(2.0), single]],
            confidence: 0.95,
        };
        assert!(!pairs.answer().unwrap()[0].differs);
    }
}
