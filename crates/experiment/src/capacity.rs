//! Arithmetic before any simulation: what is asked of each kind of part against what it can do.

use crate::result::AxisValue;
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// Demand and supply of the parts of one variant.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Capacity {
    /// The values of the axes but the load's.
    pub variant: Vec<AxisValue>,
    /// The load that demands are of, in the unit of the result's loads; none in closed loops.
    pub load: Option<f64>,
    /// The parts, in the order in which data pass them.
    pub parts: Vec<PartKind>,
    /// What limits a node, and what the figures leave out: whole sentences.
    pub remarks: Vec<String>,
}

/// A kind of part. As JSON it also has its `share`.
#[derive(Debug, Clone, PartialEq)]
pub struct PartKind {
    /// What it is: `interface of a node`.
    pub name: String,
    /// What the busiest part of the kind, or each where all are alike, is asked for; `None` if nothing says.
    pub demand: Option<f64>,
    /// Whether the demand is the most that closed loops could ask for, not what they will.
    pub at_most: bool,
    /// What it can do; `None` if it has no limit.
    pub supply: Option<f64>,
    /// Unit of both.
    pub unit: &'static str,
    /// How the supply follows from the description.
    pub basis: String,
}

impl PartKind {
    /// Demand over supply, where both are known and it can do anything at all.
    pub fn share(&self) -> Option<f64> {
        let supply = self.supply.filter(|&supply| supply > 0.0)?;
        Some(self.demand? / supply)
    }
}

impl Serialize for PartKind {
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

/// A number to three digits or more, and no more than it has.
pub fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{}", (value * 10.0).round() / 10.0),
        _ => format!("{}", (value * 1000.0).round() / 1000.0),
    }
}

/// A bandwidth in MB/s, or in GB/s from 10,000 MB/s on.
pub fn bandwidth(mb_per_s: f64) -> String {
    if mb_per_s >= 1e4 {
        return format!("{} GB/s", number(mb_per_s / 1e3));
    }
    format!("{} MB/s", number(mb_per_s))
}

#[cfg(test)]
mod tests {
    use super::PartKind;

    fn part(demand: Option<f64>, supply: Option<f64>) -> PartKind {
        PartKind {
            name: "link".to_owned(),
            demand,
            at_most: false,
            supply,
            unit: "MB/s",
            basis: String::new(),
        }
    }

    #[test]
    fn as_json_a_part_has_its_share_or_null() {
        let json = |demand, supply| serde_json::to_value(part(demand, supply)).expect("plain data");
        assert_eq!(json(Some(30.0), Some(40.0))["share"], 0.75);
        assert_eq!(json(Some(0.0), Some(40.0))["share"], 0.0);
        for (demand, supply) in [
            (None, Some(40.0)),
            (Some(30.0), None),
            (Some(30.0), Some(0.0)),
        ] {
            assert!(json(demand, supply)["share"].is_null());
        }
        assert_eq!(json(None, None).as_object().map(|part| part.len()), Some(7));
    }
}
