//! The one way in which results are compared: ratios, differences and means of several.

use isthmus_statistics::{Error, Operation, Quantity, compare};
use serde::{Deserialize, Serialize};

/// A question: what comes out of an operation on these quantities.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What to compute.
    pub operation: Operation,
    /// Of what, in order.
    pub operands: Vec<Quantity>,
    /// Confidence of all intervals.
    pub confidence: f64,
}

impl Question {
    /// The answer; none where there is no value, such as a ratio to zero.
    ///
    /// # Errors
    /// As [`isthmus_statistics::compare`].
    pub fn answer(&self) -> Result<Option<Quantity>, Error> {
        compare(&self.operation, &self.operands, self.confidence)
    }
}
