//! Values of an axis as numbers with a unit, and the values of a range such as `{ from = 1, to = 9 }`.

use crate::file::error::{Origin, Problem};
use crate::file::setting::{Layer, Setting};
use crate::file::tree::{Node, Tree};
use crate::value::Dimension;

/// Return the unit in the text of a value, such as `ms`, `/ms` or `%`; `None` for plain numbers and words.
pub(crate) fn unit(setting: &Setting) -> Option<String> {
    let amount = setting.value.amount?;
    match &setting.written {
        toml::Value::String(text) if !amount.dimension.is_whole() => Some(split(text).1.to_owned()),
        _ => None,
    }
}

/// Return a value as a number in `unit`; `None` for words and lists.
pub(crate) fn number(setting: &Setting, unit: Option<&str>) -> Option<f64> {
    let amount = setting.value.amount?;
    let Some(unit) = unit else {
        return Some(amount.number);
    };
    if let toml::Value::String(text) = &setting.written {
        let (number, own_unit) = split(text);
        if own_unit == unit {
            return number.parse().ok();
        }
    }
    // Round away errors of the unit conversion, so that 0.3 stays 0.3 in another unit.
    Some(rounded(amount.number / amount.dimension.of_unit(unit)?, 12))
}

/// Split the text of a quantity into number and unit. No unit contains a digit or a point.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .rfind(|c: char| c.is_ascii_digit() || c == '.')
        .map_or(0, |at| at + 1);
    let (number, unit) = text.split_at(end);
    (number.trim(), unit.trim())
}

/// Return `x` rounded to `digits` significant digits.
pub fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

/// Maximum number of values of a range of whole numbers that does not state its number of `points`.
const POINTS_MAX: f64 = 10_000.0;

/// Return the values of a range from `from` to `to`, with both ends as written. Errors name the location of
/// `place` in the scenario, but no field.
///
/// Values between the ends have 6 significant digits in the unit of the first end. This also hides
/// differences of `powf` between machines in the last digit. Whole quantities are rounded.
pub(crate) fn between(
    from: &Setting,
    to: &Setting,
    points: Option<usize>,
    log: bool,
    place: &Node,
) -> Result<Vec<Setting>, Problem> {
    let unit = unit(from);
    let ends = number(from, unit.as_deref()).zip(number(to, unit.as_deref()));
    let (Some((low, high)), Some(amount)) = (ends, from.value.amount) else {
        return Err(place.problem("words and lists have no range", "list the values"));
    };
    let dimension = amount.dimension;
    if low == high {
        let (from, to) = (from.text(), to.text());
        return Err(place.problem(
            format!("a range from {from} to {to} has one point"),
            "give two different ends, or the one value in a list",
        ));
    }
    let whole = dimension == Dimension::Count;
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
        settings.push(inner(
            from,
            dimension,
            exact,
            unit.as_deref(),
            place.origin,
        )?);
    }
    settings.push(to.clone());
    for setting in &mut settings {
        setting.origin = place.origin;
    }
    Ok(settings)
}

/// Convert the number `exact` between the ends of a range to a value of the field, rounded as [`between`]
/// describes.
fn inner(
    from: &Setting,
    dimension: Dimension,
    exact: f64,
    unit: Option<&str>,
    origin: Origin,
) -> Result<Setting, Problem> {
    let short = rounded(exact, 6);
    let read = |tree| Setting::read(&from.field, &Node { tree, origin }, Layer::Axis);
    let unit = match unit {
        None if dimension.is_whole() => return read(Tree::Integer(exact.round() as i64)),
        None => return read(Tree::Float(short)),
        Some("%") => return read(Tree::Text(format!("{short}%"))),
        Some(unit) => unit,
    };
    let base = (exact * dimension.of_unit(unit).unwrap_or(1.0)).round();
    let base_unit = dimension.base_unit();
    read(Tree::Text(format!("{short} {unit}")))
        .or_else(|_| read(Tree::Text(format!("{base} {base_unit}"))))
}
