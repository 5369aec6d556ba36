//! Conversion of the axis values of points and searches to their form in results and in error messages.

use crate::result::AxisValue;
use isthmus_scenario::{Scenario, SearchLine};

/// Convert axis values of the scenario to axis values of the result.
pub(super) fn values(values: &[isthmus_scenario::AxisValue]) -> Vec<AxisValue> {
    values
        .iter()
        .map(|value| AxisValue {
            text: value.text.clone(),
            number: value.number,
        })
        .collect()
}

/// Return the axis values of a search in the order of the scenario's axes; `None` for the axes over loads,
/// which the search leaves out.
pub(super) fn search_values(scenario: &Scenario, line: &SearchLine) -> Vec<Option<AxisValue>> {
    let searched = scenario.search_axes();
    scenario
        .axes
        .iter()
        .map(|axis| {
            let at = searched.iter().position(|other| other.key == axis.key)?;
            let value = &line.values[at];
            Some(AxisValue {
                text: value.text.clone(),
                number: value.number,
            })
        })
        .collect()
}

/// Return a text that names a point or search by its axis values. The text for a search leaves out the load
/// axis.
pub(super) fn position_text(scenario: &Scenario, values: &[Option<&AxisValue>]) -> String {
    let pairs: Vec<String> = (scenario.axes.iter().zip(values))
        .filter_map(|(axis, value)| Some(format!("{} = {}", axis.key, value.as_ref()?.text)))
        .collect();
    match pairs.is_empty() {
        true => String::new(),
        false => format!(" (at {})", pairs.join(", ")),
    }
}
