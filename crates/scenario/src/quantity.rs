//! Numbers of an axis: units as written, and the values between the ends of a range.

use crate::document::{Node, Tree};
use crate::error::{Origin, Problem};
use crate::setting::{Layer, Setting};
use crate::value::{Kind, Value};
use isthmus_units::{Bandwidth, Bytes, Rate, Time};

/// The unit as written: `ms`, `/ms`, `%`; `None` for plain numbers and words.
pub(crate) fn unit(setting: &Setting) -> Option<String> {
    let has_unit = matches!(
        setting.value,
        Value::Number(_) | Value::Time(_) | Value::Bytes(_) | Value::Bandwidth(_) | Value::Rate(_)
    );
    match &setting.written {
        toml::Value::String(text) if has_unit => Some(split(text).1.to_owned()),
        _ => None,
    }
}

/// The value in `unit`; `None` for words and lists.
pub(crate) fn number(setting: &Setting, unit: Option<&str>) -> Option<f64> {
    let amount = amount(&setting.value)?;
    let Some(unit) = unit else {
        return Some(amount);
    };
    if let toml::Value::String(text) = &setting.written {
        let (number, own_unit) = split(text);
        if own_unit == unit {
            return number.parse().ok();
        }
    }
    // Rounded, so that 0.3 written in another unit stays 0.3.
    Some(rounded(amount / unit_amount(&setting.value, unit)?, 12))
}

/// Number and unit of a quantity; no unit holds a digit or a point.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .rfind(|c: char| c.is_ascii_digit() || c == '.')
        .map_or(0, |at| at + 1);
    let (number, unit) = text.split_at(end);
    (number.trim(), unit.trim())
}

/// The value in base units: ps, B, bit/s, per second, or the number itself.
fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(n) => Some(*n as f64),
        Value::Number(x) => Some(*x),
        Value::Time(time) => Some(time.ps() as f64),
        Value::Bytes(bytes) => Some(bytes.get() as f64),
        Value::Bandwidth(bandwidth) => Some(bandwidth.bits_per_s() as f64),
        Value::Rate(rate) => Some(rate.per_s()),
        Value::Sizes(sizes) => match sizes[..] {
            [nodes] => Some(f64::from(nodes)),
            _ => None,
        },
        _ => None,
    }
}

/// One `unit` of the dimension of `value`, in base units.
fn unit_amount(value: &Value, unit: &str) -> Option<f64> {
    let one = format!("1 {unit}");
    let one = match value {
        Value::Number(_) => return (unit == "%").then_some(0.01),
        Value::Time(_) => Value::Time(one.parse::<Time>().ok()?),
        Value::Bytes(_) => Value::Bytes(one.parse::<Bytes>().ok()?),
        Value::Bandwidth(_) => Value::Bandwidth(one.parse::<Bandwidth>().ok()?),
        Value::Rate(_) => Value::Rate(one.parse::<Rate>().ok()?),
        _ => return None,
    };
    amount(&one)
}

/// `x` to so many significant digits.
pub fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

/// Most values of a range of whole numbers that does not say how many.
const POINTS_MAX: f64 = 10_000.0;

/// The values of a range at `place`, both ends as written. The error names no field.
///
/// Values between the ends have 6 significant digits in the unit of the first end, which also
/// hides the last-digit differences of `powf` between machines; whole quantities are rounded.
pub(crate) fn between(
    from: &Setting,
    to: &Setting,
    points: Option<usize>,
    log: bool,
    place: &Node,
) -> Result<Vec<Setting>, Problem> {
    let kind = from.field.kind;
    let unit = unit(from);
    let ends = number(from, unit.as_deref()).zip(number(to, unit.as_deref()));
    let Some((low, high)) = ends else {
        return Err(place.problem("words and lists have no range", "list the values"));
    };
    if low == high {
        let (from, to) = (from.text(), to.text());
        return Err(place.problem(
            format!("a range from {from} to {to} has one point"),
            "give two different ends, or the one value in a list",
        ));
    }
    let whole = matches!(
        kind,
        Kind::Integer { .. } | Kind::Lanes { .. } | Kind::Size(_) | Kind::Outstanding
    );
    let points = match points {
        Some(points) => points,
        None if whole && !log && (high - low).abs() < POINTS_MAX => (high - low).abs() as usize + 1,
        None if whole && !log => {
            return Err(place.problem(
                format!(
                    "the range has {} values; without points it may have {POINTS_MAX}",
                    (high - low).abs() + 1.0
                ),
                "add, for example, points = 5",
            ));
        }
        None => {
            return Err(place.problem(
                "the range does not say how many points",
                "add, for example, points = 5",
            ));
        }
    };
    if log && (low <= 0.0 || high <= 0.0) {
        return Err(place.problem(
            "a logarithmic range cannot begin or end at zero",
            "give ends above 0, or spacing = \"linear\"",
        ));
    }
    let mut settings = vec![from.clone()];
    for step in 1..points.saturating_sub(1) {
        let share = step as f64 / (points - 1) as f64;
        let exact = if log {
            low * (high / low).powf(share)
        } else {
            low + (high - low) * share
        };
        settings.push(inner(from, exact, unit.as_deref(), place.origin)?);
    }
    settings.push(to.clone());
    for setting in &mut settings {
        setting.origin = place.origin;
    }
    Ok(settings)
}

fn inner(
    from: &Setting,
    exact: f64,
    unit: Option<&str>,
    origin: Origin,
) -> Result<Setting, Problem> {
    let short = rounded(exact, 6);
    let read = |tree| Setting::read(&from.field, &Node { tree, origin }, Layer::Axis);
    let unit = match unit {
        None if matches!(from.value, Value::Integer(_) | Value::Sizes(_)) => {
            return read(Tree::Integer(exact.round() as i64));
        }
        None => return read(Tree::Float(short)),
        Some("%") => return read(Tree::Text(format!("{short}%"))),
        Some(unit) => unit,
    };
    let base_unit = match from.value {
        Value::Time(_) => "ps",
        Value::Bytes(_) => "B",
        Value::Bandwidth(_) => "bit/s",
        _ => "",
    };
    let base = exact * unit_amount(&from.value, unit).unwrap_or(1.0);
    read(Tree::Text(format!("{short} {unit}")))
        .or_else(|_| read(Tree::Text(format!("{} {base_unit}", base.round()))))
}
