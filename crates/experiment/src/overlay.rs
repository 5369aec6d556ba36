//! What a model says of a point.

use crate::result::Outside;
use std::collections::BTreeMap;

/// What the analytic model says of a point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// Means by name of the measure: latencies in microseconds, rates in their units.
    pub measures: BTreeMap<String, f64>,
    /// Why a value of `measures` is outside the model's domain, in one phrase that names the limit, by name of
    /// the measure. Results do not show such a value as `analytic`.
    pub outside: BTreeMap<String, String>,
    /// Utilisation by kind of channel.
    pub utilisation: BTreeMap<String, f64>,
    /// The load at which the first channel is full, in the unit of [`Subject::load`](crate::subject::Subject::load).
    pub saturation: Option<f64>,
    /// That channel, or its kind.
    pub bottleneck: Option<String>,
    /// Why there is no model, in one phrase, where that is known.
    pub absent: Option<String>,
}

impl Overlay {
    /// No model, for this reason.
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

    /// Return the value of a measure where the model holds, and the value with the reason where it does not.
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
