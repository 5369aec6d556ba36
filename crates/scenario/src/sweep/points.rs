//! The points of a sweep: all combinations of the values of its axes.

use crate::file::error::{Origin, Problem};
use crate::file::settings::Settings;
use crate::sweep::axis::{Axis, AxisValue};

/// Maximum number of points of a sweep, and of its searches for the saturation load.
pub const POINTS_MAX: usize = 10_000;

/// Return the number of combinations of the values of the axes.
pub(crate) fn count(axes: &[Axis]) -> usize {
    let mut lengths = axes.iter().map(|axis| axis.values.len());
    let count = lengths.try_fold(1usize, usize::checked_mul);
    count.unwrap_or(usize::MAX)
}

/// Check that the axes do not have more than [`POINTS_MAX`] combinations of values.
pub(crate) fn check_count(axes: &[Axis]) -> Result<(), Problem> {
    let Some(last) = axes.last().filter(|_| count(axes) > POINTS_MAX) else {
        return Ok(());
    };
    let first = last.values.first().and_then(|value| value.settings.first());
    Err(Problem::new(
        format!("sweep.{}", last.key),
        first.map_or(Origin::Whole, |setting| setting.origin),
        format!("the axes give more than {POINTS_MAX} points"),
        "give fewer values, or split the sweep",
    ))
}

/// Return all combinations of the values of the axes. The first axis varies slowest.
pub(crate) fn product(axes: &[Axis]) -> Vec<Vec<AxisValue>> {
    axes.iter().fold(vec![Vec::new()], |combinations, axis| {
        let with = |values: &Vec<AxisValue>, value: &AxisValue| {
            values.iter().chain([value]).cloned().collect()
        };
        let extended = |values| axis.values.iter().map(move |value| with(values, value));
        combinations.iter().flat_map(extended).collect()
    })
}

/// Return the values of all fields at one point: `base`, changed by one value of each axis.
pub(crate) fn applied(base: &Settings, values: &[AxisValue]) -> Result<Settings, Problem> {
    let mut settings = base.clone();
    for setting in values.iter().flat_map(|value| &value.settings) {
        settings.put(setting)?;
    }
    Ok(settings)
}

/// Add to the text of a problem the axis values of the point at which it occurs.
pub(crate) fn at(
    problem: Problem,
    axes: &[Axis],
    values: &[AxisValue],
    load: Option<&str>,
) -> Problem {
    let place: Vec<String> = axes
        .iter()
        .zip(values)
        .map(|(axis, value)| format!("{} = {}", axis.key, value.text))
        .chain(load.map(|load| format!("a load of {load}")))
        .collect();
    if place.is_empty() {
        return problem;
    }
    let words = format!("{} (at {})", problem.problem, place.join(", "));
    Problem {
        problem: words,
        ..problem
    }
}
