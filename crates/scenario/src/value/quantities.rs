//! Types of fields whose values are quantities with a unit: time, data, bandwidth, rates.

use super::json;
use super::numbers::out_of_range;
use super::value_type::{TypeInfo, ValueType};
use crate::file::error::Problem;
use crate::file::tree::{Node, Tree, shown};
use isthmus_units::{Bandwidth, Bytes, Rate, Time, UnitError};
use std::str::FromStr;

/// Maximum time that a field may hold.
pub const TIME_MAX: Time = Time::from_ps(24 * 3_600_000_000_000_000);

/// Type of fields whose value is a span of time.
pub struct Span {
    /// Whether the span may be zero.
    zero: bool,
    /// Unit that error messages suggest for a number without a unit.
    usual: &'static str,
}

impl Span {
    /// Create the type of fields whose values are spans of time that may be zero. Errors suggest the unit
    /// `usual` for a number without a unit.
    pub const fn or_zero(usual: &'static str) -> Self {
        Self { zero: true, usual }
    }

    /// Create the type of fields whose values are spans of time above zero. Errors suggest the unit `usual`
    /// for a number without a unit.
    pub const fn above_zero(usual: &'static str) -> Self {
        Self { zero: false, usual }
    }
}

impl ValueType for Span {
    /// Rust type of the parsed value: the span of time.
    type Held = Time;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let range = match self.zero {
            true => "0 s to 24 h",
            false => "above 0 s, to 24 h",
        };
        let json = json::quantity(json::TIME, self.zero);
        TypeInfo::new("a time", "\"0.156 ms\"", range, json).units("ps, ns, us, ms, s, min, h")
    }

    /// Parse a span of time with a unit, such as `"5 us"`.
    fn read(&self, node: &Node) -> Result<Time, Problem> {
        let time: Time = quantity(node, self, self.usual)?;
        if time == Time::ZERO && !self.zero {
            return Err(node.problem("zero is no time at all", "give more than 0 s"));
        }
        if time > TIME_MAX {
            return Err(node.problem(format!("{time} is too long"), "give at most 24 h"));
        }
        Ok(time)
    }
}

/// Type of fields whose value is an amount of data within a range in bytes.
pub struct Data {
    /// Minimum valid amount in bytes.
    min: u64,
    /// Maximum valid amount in bytes.
    max: u64,
}

impl Data {
    /// Type of fields whose value is any amount of data above zero.
    pub const ANY: Self = Self::new(1, u64::MAX);

    /// Create the type of fields whose values are amounts from `min` to `max` bytes.
    pub const fn new(min: u64, max: u64) -> Self {
        Self { min, max }
    }
}

impl ValueType for Data {
    /// Rust type of the parsed value: the amount of data.
    type Held = Bytes;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let (min, max) = (self.min, self.max);
        let range = match max == u64::MAX {
            true => format!("{min} B or more"),
            false => format!("{min} B to {max} B"),
        };
        let example = format!("\"{} B\"", 4096.clamp(min, max));
        let json = json::quantity(json::BYTES, min == 0);
        TypeInfo::new("an amount of data", example, range, json)
            .units("B, kB, MB, GB, TB, KiB, MiB, GiB, TiB")
    }

    /// Parse an amount of data with a unit, such as `"4 KiB"`.
    fn read(&self, node: &Node) -> Result<Bytes, Problem> {
        let bytes: Bytes = quantity(node, self, "B")?;
        match bytes.get() {
            0 if self.min > 0 => Err(zero(node, "no data", &self.describe().range)),
            amount if (self.min..=self.max).contains(&amount) => Ok(bytes),
            _ => Err(out_of_range(node, bytes, &self.describe().range)),
        }
    }
}

/// Type of fields whose value is a bandwidth above zero.
pub struct Throughput {
    /// Unit that error messages suggest for a number without a unit.
    usual: &'static str,
    /// Whether the bandwidth is an offered load, for error messages.
    offered: bool,
}

impl Throughput {
    /// Type of a scenario field whose value is the bandwidth of a part of the machine, such as a link.
    pub const LINK: Self = Self {
        usual: "MB/s",
        offered: false,
    };

    /// Create the type of fields whose values are offered loads. Errors suggest the unit `usual` for a number
    /// without a unit.
    pub const fn offered(usual: &'static str) -> Self {
        let offered = true;
        Self { usual, offered }
    }
}

impl ValueType for Throughput {
    /// Rust type of the parsed value: the bandwidth.
    type Held = Bandwidth;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let example = format!("\"20 {}\"", self.usual);
        let json = json::quantity(json::BANDWIDTH, false);
        TypeInfo::new("a bandwidth", example, "1 bit/s or more", json)
            .units("B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, bit/s to Tbit/s")
    }

    /// Parse a bandwidth with a unit, such as `"1 GB/s"`.
    fn read(&self, node: &Node) -> Result<Bandwidth, Problem> {
        let bandwidth: Bandwidth = quantity(node, self, self.usual)?;
        match (bandwidth.bits_per_s(), self.offered) {
            (0, true) => Err(zero(node, "no traffic at all", "a load above 0")),
            (0, false) => Err(zero(node, "a lane that moves nothing", "1 bit/s or more")),
            _ => Ok(bandwidth),
        }
    }
}

/// Type of fields whose value is a rate of events above zero.
pub struct Frequency;

impl ValueType for Frequency {
    /// Rust type of the parsed value: the rate of events.
    type Held = Rate;

    /// Return the description of this type of field values: name, example, valid range and JSON Schema.
    fn describe(&self) -> TypeInfo {
        let range = "above 0, a mean gap of 1 ps to 24 h";
        let json = json::quantity(json::RATE, false);
        TypeInfo::new("a rate", "\"6.4 /ms\"", range, json).units("/s, /ms, /us, /ns")
    }

    /// Parse a rate of events with a unit, such as `"5 /ms"`.
    fn read(&self, node: &Node) -> Result<Rate, Problem> {
        let rate: Rate = quantity(node, self, "/ms")?;
        let gap = 1e12 / rate.per_s();
        let (problem, hint) = match () {
            () if rate.per_s() <= 0.0 => {
                return Err(zero(node, "no traffic at all", "a rate above 0"));
            }
            () if gap < 1.0 => ("more than one in a picosecond", "at most \"1000 /ns\""),
            () if gap > TIME_MAX.ps() as f64 => {
                ("less than one in 24 h", "at least \"0.0000116 /s\"")
            }
            () => return Ok(rate),
        };
        Err(node.problem(format!("{rate} is {problem}"), format!("give {hint}")))
    }
}

/// Parse a quantity with a unit, for a field of type `of`. Errors suggest the unit `usual` for a number
/// without a unit.
///
/// # Errors
/// If the value is not a number with a valid unit.
pub fn quantity<T: FromStr<Err = UnitError>>(
    node: &Node,
    of: &impl ValueType,
    usual: &str,
) -> Result<T, Problem> {
    let (problem, number) = match node.tree {
        Tree::Integer(n) => (format!("the unit of {n} is missing"), n.to_string()),
        Tree::Float(x) if x.is_finite() => (format!("the unit of {x} is missing"), x.to_string()),
        Tree::Float(x) => (format!("{x} is not a finite number"), "1".to_owned()),
        _ => {
            let text = node.text(of)?;
            return text.parse().map_err(|error: UnitError| {
                let problem = format!("{}: {}", shown(text), error.problem());
                node.problem(problem, error.hint())
            });
        }
    };
    let expected = of.describe().expected;
    let hint = format!("write {expected} with its unit, for example \"{number} {usual}\"");
    Err(node.problem(problem, hint))
}

/// Return the error that a quantity is zero. `meaning` completes the text "zero is ...", and `right` the hint
/// "give ...".
fn zero(node: &Node, meaning: &str, right: &str) -> Problem {
    node.problem(format!("zero is {meaning}"), format!("give {right}"))
}
