//! Scenario tables that all packet networks share.

use crate::jobs::{self, WorkloadTable};
use isthmus_scenario::format::{Field, Presets, Tables};

/// Return the scenario tables of a kind of packet network, from its fields of `[machine]`.
pub const fn tables(machine: fn() -> Vec<Field>, presets: Option<&'static Presets>) -> Tables {
    jobs::tables(machine, jobs::workload::<WorkloadTable>, presets, None)
}
