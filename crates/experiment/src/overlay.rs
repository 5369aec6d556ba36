//! Predictions of the analytic model for one point of a sweep.

use crate::result::Outside;
use std::collections::BTreeMap;

/// Predictions of the analytic model for one point of a sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// Predicted mean of each measure, by name of the measure: latencies in us, rates in the unit
    /// of the measure.
    pub measures: BTreeMap<String, f64>,
    /// Reason why a value of `measures` is outside the model's domain, by name of the measure. The reason is
    /// one phrase that names the limit. Results do not show such a value as `analytic`.
    pub outside: BTreeMap<String, String>,
    /// Predicted utilisation of the channels of each kind, by name of the kind.
    pub utilisation: BTreeMap<String, f64>,
    /// Predicted saturation load, at which the first channel is fully used, in the unit of
    /// [`Subject::load`](crate::subject::Subject::load).
    pub saturation: Option<f64>,
    /// Name of the channel, or of the kind of channel, that saturates first.
    pub bottleneck: Option<String>,
    /// Reason, in one phrase, why the model has no values at all, if known.
    pub absent: Option<String>,
}

impl Overlay {
    /// Return predictions without any values, with the reason why the model has none.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self {
            absent: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Mark the predictions for all measures whose name `is_of` accepts as outside the domain in which the
    /// model is valid.
    pub fn bound(&mut self, reason: &str, is_of: impl Fn(&str) -> bool) {
        let of = self.measures.keys().filter(|name| is_of(name));
        self.outside
            .extend(of.map(|name| (name.clone(), reason.to_owned())));
    }

    /// Return the prediction for the measure `name`: as the first item if it is inside the model's domain, or
    /// else as the second item, with the reason.
    pub(crate) fn split(&self, name: &str) -> (Option<f64>, Option<Outside>) {
        let value = self.measures.get(name).copied();
        match (value, self.outside.get(name)) {
            (Some(value), Some(reason)) => {
                let reason = reason.clone();
                (None, Some(Outside { value, reason }))
            }
            _ => (value, None),
        }
    }
}
