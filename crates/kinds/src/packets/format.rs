//! What files with networks of packets say alike.

use crate::jobs::{self, WorkloadTable};
use isthmus_scenario::format::{Field, Presets, Tables};

/// The tables of a kind whose fields of `[machine]` these are.
pub const fn tables(machine: fn() -> Vec<Field>, presets: Option<&'static Presets>) -> Tables {
    jobs::tables(machine, jobs::workload::<WorkloadTable>, presets, None)
}
