//! Properties of a scenario that depend on all of its points together.

use crate::subject::Subject;
use isthmus_scenario::{Scenario, ScenarioError, StopRule};
use isthmus_units::Time;

/// Return the longest period of any periodic process, such as a checkpoint, at any of these points.
pub(super) fn longest_period(subjects: &[&dyn Subject]) -> Time {
    let ps = |subject: &&dyn Subject| subject.period() as f64 * subject.cycle_us() * 1e6;
    let longest = subjects.iter().map(ps).fold(0.0, f64::max);
    Time::from_ps(longest.round() as u64)
}

/// Check that each measure that the user names in the stopping rule occurs at one point at least.
pub(super) fn check_measured(
    scenario: &Scenario,
    subjects: &[&dyn Subject],
) -> Result<(), ScenarioError> {
    let StopRule::Precision { of, .. } = &scenario.stop.rule else {
        return Ok(());
    };
    if subjects.is_empty() || !scenario.insists_on("stop.of") {
        return Ok(());
    }
    let occurs = |name: &String| {
        subjects.iter().any(|subject| {
            let at = subject.measures().iter().position(|other| other == name);
            at.is_some_and(|at| subject.occurs(at))
        })
    };
    match of.iter().find(|name| !occurs(name)) {
        None => Ok(()),
        Some(name) => Err(scenario.error_at(
            "stop.of",
            format!("\"{name}\" has no effect: the workload never gives it at any point"),
            "remove it, or ask for what it measures",
        )),
    }
}
