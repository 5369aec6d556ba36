//! The analytic model's values for a point.

use crate::result::Outside;
use std::collections::BTreeMap;

/// The analytic model's values for a point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// Means of the measures, by name of the measure: latencies in us, rates in their units.
    pub measures: BTreeMap<String, f64>,
    /// Reason why a value of `measures` is outside the model's domain, by name of the measure. The reason is
    /// one phrase that names the limit. Results do not show such a value as `analytic`.
    pub outside: BTreeMap<String, String>,
    /// Utilisation of the channels of each kind, by name of the kind.
    pub utilisation: BTreeMap<String, f64>,
    /// The load at which the first channel is full, in the unit of [`Subject::load`](crate::subject::Subject::load).
    pub saturation: Option<f64>,
    /// Name of the first full channel, or of its kind.
    pub bottleneck: Option<String>,
    /// Reason, in one phrase, why the model has no values at all, if known.
    pub absent: Option<String>,
}

impl Overlay {
    /// Return an overlay without values. `reason` says why there is no model.
    pub fn absent(reason: impl Into<String>) -> Self {
        Self {
            absent: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Mark the values of all measures that `is_of` accepts as outside the model's domain.
    pub fn bound(&mut self, reason: &str, is_of: impl Fn(&str) -> bool) {
        let of = self.measures.keys().filter(|name| is_of(name));
        self.outside
            .extend(of.map(|name| (name.clone(), reason.to_owned())));
    }

    /// Return two parts: the value of a measure if the model is valid there, or else the value with the
    /// reason why not.
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
