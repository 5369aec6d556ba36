//! What a model says of a point.

use std::collections::BTreeMap;

/// What the analytic model says of a point; empty where it says nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// Means by name of the measure: latencies in microseconds, rates in their units.
    pub measures: BTreeMap<String, f64>,
    /// Utilisation by kind of channel.
    pub utilisation: BTreeMap<String, f64>,
    /// The load at which the first channel is full, in the unit of [`Subject::load`](crate::subject::Subject::load).
    pub saturation: Option<f64>,
    /// That channel, or its kind.
    pub bottleneck: Option<String>,
}
