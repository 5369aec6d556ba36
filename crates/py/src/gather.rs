//! A run put together from parts that were run elsewhere.

use crate::experiment::{SetupFailure, set_up};
use crate::heard::heard;
use crate::json;
use isthmus_experiment::Options;
use isthmus_experiment::result::RunResult;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A part of a run: its result, and which points and searches of the whole are in it, in its order.
type Part = (String, Vec<usize>, Vec<usize>);

/// The result of the whole scenario from those of its parts, as JSON: the bytes that a run of the
/// whole gives.
#[pyfunction]
pub(crate) fn gather(
    py: Python<'_>,
    text: String,
    file: String,
    overrides: Vec<String>,
    seed: Option<u64>,
    quick: bool,
    parts: Vec<Part>,
) -> PyResult<String> {
    let whole = heard(py, std::sync::Arc::default(), move |progress| {
        let options = Options {
            seed,
            quick,
            ..Options::default()
        };
        let experiment = set_up(&text, &file, &overrides, options, progress)?;
        // It has the places of all points and searches; what they came to is replaced.
        let mut whole = experiment.analyze();
        let placed = parts.iter().try_for_each(|part| place(&mut whole, part));
        Ok::<_, SetupFailure>(placed.map(|()| whole))
    })?;
    let whole = whole?.map_err(PyValueError::new_err)?;
    json(&whole)
}

fn place(whole: &mut RunResult, (text, points, searches): &Part) -> Result<(), String> {
    let part: RunResult = serde_json::from_str(text).map_err(|error| format!("a part: {error}"))?;
    if (part.points.len(), part.searches.len()) != (points.len(), searches.len()) {
        return Err("a part: not as many points or searches as it was asked for".to_owned());
    }
    for (found, &at) in part.points.into_iter().zip(points) {
        let place = whole.points.get_mut(at).ok_or("a part: no such point")?;
        let values = std::mem::take(&mut place.values);
        let (index, machine) = (place.index, place.machine);
        *place = found;
        (place.index, place.machine, place.values) = (index, machine, values);
    }
    for (found, &at) in part.searches.into_iter().zip(searches) {
        let place = whole.searches.get_mut(at).ok_or("a part: no such search")?;
        let values = std::mem::take(&mut place.values);
        let machine = place.machine;
        *place = found;
        (place.machine, place.values) = (machine, values);
    }
    Ok(())
}
