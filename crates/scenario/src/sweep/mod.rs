//! Axes, the points that they give, and the search for the knee.

pub(crate) mod axis;
pub(crate) mod failure_axis;
pub(crate) mod failures;
pub(crate) mod points;
pub(crate) mod range;
pub(crate) mod search;
mod sets;
pub(crate) mod variants;
