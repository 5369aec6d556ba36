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
