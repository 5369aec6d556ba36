//! The sweep of a scenario: its axes, its points, and the search for the saturation load.

pub(crate) mod axis;
pub(crate) mod failure_axis;
pub(crate) mod failures;
pub(crate) mod points;
pub(crate) mod range;
pub(crate) mod search;
mod sets;
pub(crate) mod variants;
