//! What files with networks of packets say alike.

use crate::devices::{DEVICE, StorageTable};
use crate::jobs::{self, WorkloadTable};
use isthmus_scenario::format::{Field, Presets, Rows, Tables};

/// The tables of a kind whose fields of `[machine]` these are.
pub const fn tables(machine: fn() -> Vec<Field>, presets: Option<&'static Presets>) -> Tables {
    Tables {
        machine,
        workload: || {
            let jobs = Rows::of::<WorkloadTable>("workload").into_iter();
            jobs.chain(Rows::of::<StorageTable>(DEVICE)).collect()
        },
        named: Some(jobs::NAMED),
        own: jobs::OWN,
        loads: jobs::LOADS,
        presets,
        faults: None,
    }
}
