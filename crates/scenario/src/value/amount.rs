//! Conversion of field values to numbers, for the axes of a sweep.

use isthmus_units::{Bandwidth, Bytes, Rate, Time};
use std::any::Any;

/// Dimension of a number, which determines its units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// A count: a whole number without a unit.
    Count,
    /// The number of nodes of a grid with one dimension. A range over such numbers must state its number of
    /// points.
    Grid,
    /// A plain number or a share.
    Number,
    /// A time, in picoseconds.
    Time,
    /// An amount of data, in bytes.
    Data,
    /// A bandwidth, in bit/s.
    Bandwidth,
    /// A rate of events, per second.
    Rate,
}

impl Dimension {
    /// Return whether amounts of this dimension are whole numbers without a unit.
    pub(crate) fn is_whole(self) -> bool {
        matches!(self, Self::Count | Self::Grid)
    }

    /// Return the base unit, in which amounts of this dimension are whole numbers; empty if there is none.
    pub(crate) fn base_unit(self) -> &'static str {
        match self {
            Self::Time => "ps",
            Self::Data => "B",
            Self::Bandwidth => "bit/s",
            _ => "",
        }
    }

    /// Return the size of one `unit` as a number in the base unit; `None` if the unit is of another
    /// dimension.
    pub(crate) fn of_unit(self, unit: &str) -> Option<f64> {
        let one = format!("1 {unit}");
        Some(match self {
            Self::Count | Self::Grid => return None,
            Self::Number => return (unit == "%").then_some(0.01),
            Self::Time => one.parse::<Time>().ok()?.ps() as f64,
            Self::Data => one.parse::<Bytes>().ok()?.get() as f64,
            Self::Bandwidth => speed(&one.parse().ok()?),
            Self::Rate => one.parse::<Rate>().ok()?.per_s(),
        })
    }
}

/// A field value as a number with a dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amount {
    /// The number, in the base unit of its dimension.
    pub(crate) number: f64,
    /// The physical dimension of the number, such as time or bandwidth.
    pub(crate) dimension: Dimension,
}

impl Amount {
    /// Return the amount that stands for a grid of one dimension on an axis: its number of nodes.
    pub fn of_grid(nodes: u32) -> Self {
        Self {
            number: nodes.into(),
            dimension: Dimension::Grid,
        }
    }

    /// Return the amount of a field value; `None` if the value is not a number.
    pub fn of(value: &dyn Any) -> Option<Self> {
        let numbers = [
            (Dimension::Count, number(value, |&n: &u32| n.into())),
            (Dimension::Count, number(value, |&n: &u64| n as f64)),
            (Dimension::Number, number(value, |&x: &f64| x)),
            (Dimension::Time, number(value, |t: &Time| t.ps() as f64)),
            (Dimension::Data, number(value, |b: &Bytes| b.get() as f64)),
            (Dimension::Bandwidth, number(value, speed)),
            (Dimension::Rate, number(value, |r: &Rate| r.per_s())),
        ];
        let mut numbers = numbers.into_iter();
        numbers.find_map(|(dimension, number)| {
            Some(Self {
                number: number?,
                dimension,
            })
        })
    }
}

/// Convert a value of type `T` to a number by `of`; return `None` if the value has another type.
fn number<T: Any>(value: &dyn Any, of: impl Fn(&T) -> f64) -> Option<f64> {
    value.downcast_ref().map(of)
}

/// Convert a bandwidth to a number in bit/s.
fn speed(bandwidth: &Bandwidth) -> f64 {
    bandwidth.bits_per_s() as f64
}
