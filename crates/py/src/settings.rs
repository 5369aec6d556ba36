//! Returns the values of all fields of a scenario at every point, and converts texts to numbers in
//! one unit.

use crate::question::{Refusal, answer};
use isthmus_kinds::KINDS;
use isthmus_units::{Bandwidth, Bytes, Rate, Time};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashMap;

/// The JSON argument of [`settings`]: the scenario and its points.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    scenario: String,
    file: String,
    /// The overrides of each point, which select one value of each axis.
    points: Vec<Vec<String>>,
}

/// The values of one field of the scenario at every point.
#[derive(Serialize)]
struct Setting {
    key: String,
    /// Whether a file, an override or an axis sets the field at any point.
    given: bool,
    /// Whether the field determines the offered load of the machine.
    load: bool,
    /// The value of the field at each point; `None` where the field does not apply.
    texts: Vec<Option<String>>,
}

/// Return the value of every scenario field at every point of the sweep, as JSON.
#[pyfunction]
pub(crate) fn settings(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: Question, progress| {
        resolve(&question, || progress.is_cancelled())
    })
}

/// Return the value of every scenario field at every point of the sweep.
fn resolve(question: &Question, cancelled: impl Fn() -> bool) -> Result<Value, Refusal> {
    let parse = |overrides: &[String]| {
        let parsed = KINDS.parse(&question.scenario, &question.file, overrides);
        parsed.map_err(|error| Refusal::at("scenario", error))
    };
    let whole = parse(&[])?;
    let mut settings: Vec<Setting> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (point, overrides) in question.points.iter().enumerate() {
        if cancelled() {
            break;
        }
        for row in parse(overrides)?.resolved() {
            let at = *places.entry(row.key).or_insert_with_key(|key| {
                settings.push(Setting {
                    given: false,
                    load: whole.is_load(key),
                    key: key.clone(),
                    texts: vec![None; question.points.len()],
                });
                settings.len() - 1
            });
            settings[at].given |= ["given", "override", "axis"].contains(&row.from.as_str());
            settings[at].texts[point] = Some(row.value);
        }
    }
    Ok(json!({"digest": whole.digest(), "settings": settings}))
}

/// A list of texts that were converted to numbers in the unit of the first text.
#[derive(Serialize, Default)]
struct Quantities {
    unit: Option<String>,
    /// The numbers; `None` unless all texts that are present are numbers of one dimension.
    numbers: Option<Vec<Option<f64>>>,
}

/// The JSON argument of [`quantities`]: the lists of texts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    texts: Vec<Vec<Option<String>>>,
}

/// Convert lists of texts such as "4 KiB" to numbers, with one unit for each list; return JSON.
#[pyfunction]
pub(crate) fn quantities(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    answer(py, spec_json, |question: Texts, _| {
        let lists = question.texts.iter();
        Ok(lists.map(|texts| quantities_of(texts)).collect::<Vec<_>>())
    })
}

/// Convert texts such as "4 KiB" to numbers in the unit of the first text.
fn quantities_of(texts: &[Option<String>]) -> Quantities {
    let first = texts.iter().flatten().next();
    let Some(unit) = first.map(|text| split(text).1.to_owned()) else {
        return Quantities::default();
    };
    // Return no numbers if the words after the first number are no unit, which occurs in derived
    // values.
    if !unit.is_empty() && amount(&format!("1 {unit}")).is_none() {
        return Quantities::default();
    }
    let numbers = texts.iter().map(|text| match text {
        None => Some(None),
        Some(text) => number_in(text, &unit).map(Some),
    });
    let numbers: Option<Vec<Option<f64>>> = numbers.collect();
    Quantities {
        unit: Some(unit).filter(|unit| numbers.is_some() && !unit.is_empty()),
        numbers,
    }
}

/// Split a text into number and unit; no unit contains a digit or a point.
fn split(text: &str) -> (&str, &str) {
    let end = text.rfind(|c: char| c.is_ascii_digit() || c == '.');
    let (number, unit) = text.split_at(end.map_or(0, |at| at + 1));
    (number.trim(), unit.trim())
}

/// Return the number in a text, converted to this unit; `None` if the text is no number with such a
/// unit.
fn number_in(text: &str, unit: &str) -> Option<f64> {
    let (number, own) = split(text);
    let number: f64 = number.parse().ok()?;
    if own == unit {
        return Some(number);
    }
    let ((amount, dimension), (one, wanted)) = (amount(text)?, amount(&format!("1 {unit}"))?);
    // Round, so that 0.3 written in another unit stays 0.3.
    let rounded = format!("{:.11e}", amount / one).parse();
    rounded.ok().filter(|_| dimension == wanted)
}

/// Return the quantity in a text in the base unit of its dimension (such as time), and the number
/// of that dimension; `None` if the text is no quantity.
fn amount(text: &str) -> Option<(f64, u8)> {
    let (number, unit) = split(text);
    match unit {
        "" => return Some((number.parse().ok()?, 0)),
        "%" => return Some((0.01 * number.parse::<f64>().ok()?, 0)),
        _ => {}
    }
    let time = text.parse::<Time>().map(|time| (time.ps() as f64, 1));
    let bytes = || text.parse::<Bytes>().map(|bytes| (bytes.get() as f64, 2));
    let rate = || text.parse::<Rate>().map(|rate| (rate.per_s(), 3));
    let bandwidth = text.parse::<Bandwidth>();
    let bandwidth = bandwidth.map(|bandwidth| (bandwidth.bits_per_s() as f64, 4));
    (time.ok())
        .or_else(|| bytes().ok())
        .or_else(|| rate().ok())
        .or_else(|| bandwidth.ok())
}
