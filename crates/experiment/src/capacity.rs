//! Demand on each kind of machine part and its maximum throughput, computed before any simulation.

use crate::result::AxisValue;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Demand on each kind of machine part and its maximum throughput, for one variant of the sweep.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Capacity {
    /// Axis values of the variant: those of all axes except the load axis.
    pub variant: Vec<AxisValue>,
    /// Load at which the demands are computed, in the unit of the result's loads; `None` if the workload is a
    /// closed loop.
    pub load: Option<f64>,
    /// Kinds of machine part, such as links or disks, in the order in which data pass them.
    pub parts: Vec<PartKind>,
    /// Sentences for the user: effects that this computation ignores, and further limits of the machine.
    pub remarks: Vec<String>,
}

/// A kind of machine part, such as links, disks or servers, with the demand on it and its maximum throughput.
/// The JSON form has the additional field `share`: demand divided by supply.
#[derive(Debug, Clone, PartialEq)]
pub struct PartKind {
    /// Name of the kind of part, for example `interface of a node`.
    pub name: String,
    /// Demand on the busiest part of the kind, or on each part if all are alike; `None` if it is unknown.
    pub demand: Option<f64>,
    /// Whether `demand` is an upper bound, as for a closed-loop workload, instead of the expected demand.
    pub at_most: bool,
    /// Maximum throughput of one part; `None` if there is no limit.
    pub supply: Option<f64>,
    /// Unit of `demand` and `supply`, for example `MB/s`.
    pub unit: &'static str,
    /// Explanation for the user of how `supply` is computed from the scenario.
    pub basis: String,
}

impl PartKind {
    /// Return the utilisation of the parts: demand divided by supply, if both are known and the supply is not
    /// zero.
    pub fn share(&self) -> Option<f64> {
        let supply = self.supply.filter(|&supply| supply > 0.0)?;
        Some(self.demand? / supply)
    }
}

impl Serialize for PartKind {
    /// Write the fields, and `share`, which is computed from them.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("PartKind", 7)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("demand", &self.demand)?;
        fields.serialize_field("at_most", &self.at_most)?;
        fields.serialize_field("supply", &self.supply)?;
        fields.serialize_field("share", &self.share())?;
        fields.serialize_field("unit", &self.unit)?;
        fields.serialize_field("basis", &self.basis)?;
        fields.end()
    }
}

/// Format a number with at least three significant digits and no trailing zeros.
pub fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{}", (value * 10.0).round() / 10.0),
        _ => format!("{}", (value * 1000.0).round() / 1000.0),
    }
}

/// Format a bandwidth in MB/s, or in GB/s from 10,000 MB/s on.
pub fn bandwidth(mb_per_s: f64) -> String {
    if mb_per_s >= 1e4 {
        return format!("{} GB/s", number(mb_per_s / 1e3));
    }
    format!("{} MB/s", number(mb_per_s))
}
