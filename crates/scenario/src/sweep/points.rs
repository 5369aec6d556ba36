//! The combinations of the values of axes.

use crate::file::error::{Origin, Problem};
use crate::file::settings::Settings;
use crate::sweep::axis::{Axis, AxisValue};

/// The most points that a sweep may have, and the most lines of a search.
pub const POINTS_MAX: usize = 10_000;

/// Whether the axes give no more points than a sweep may have.
pub(crate) fn check_count(axes: &[Axis]) -> Result<(), Problem> {
    let count = axes
        .iter()
        .try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()))
        .unwrap_or(usize::MAX);
    if count <= POINTS_MAX {
        return Ok(());
    }
    let last = axes.last().map_or("sweep", |axis| axis.key.as_str());
    let origin = axes
        .last()
        .and_then(|axis| axis.values.first())
        .and_then(|value| value.settings.first())
        .map_or(Origin::Whole, |setting| setting.origin);
    Err(Problem::new(
        format!("sweep.{last}"),
        origin,
        format!("the axes give more than {POINTS_MAX} points"),
        "give fewer values, or split the sweep",
    ))
}

/// All combinations of values, the first axis slowest.
pub(crate) fn product(axes: &[Axis]) -> Vec<Vec<AxisValue>> {
    axes.iter().fold(vec![Vec::new()], |combinations, axis| {
        combinations
            .iter()
            .flat_map(|values| {
                axis.values
                    .iter()
                    .map(|value| [&values[..], std::slice::from_ref(value)].concat())
            })
            .collect()
    })
}

/// The settings of one point.
pub(crate) fn applied(base: &Settings, values: &[AxisValue]) -> Result<Settings, Problem> {
    let mut settings = base.clone();
    for setting in values.iter().flat_map(|value| &value.settings) {
        settings.put(setting)?;
    }
    Ok(settings)
}

/// The problem with the point at which it arises.
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
