//! What files with jobs say alike.

use super::table::JobTable;
use crate::bandwidths;
use crate::devices::{DEVICE, StorageTable};
use isthmus_scenario::format::Default::{Derived, Required, Value};
use isthmus_scenario::format::{
    Describe, Faults, Field, Kind, Loads, Named, Own, Presets, Rows, Tables,
};

/// How much open loops ask for.
const LOAD_KEYS: &[&str] = &["workload.load"];

/// The tables of the jobs.
const NAMED: Named = Named {
    table: "workload.jobs",
    one: "job",
    most: 64,
    measure: "response",
    taken: &["servers"],
    rows: |path| Rows::of::<JobTable>(path),
};

/// What open loops ask for, node by node.
const LOADS: Loads = Loads {
    keys: LOAD_KEYS,
    key: "workload.load",
    label: "offered load per node",
    unit: "MB/s",
    read: bandwidths::read::<{ bandwidths::MB_PER_S }>,
    write: bandwidths::write::<{ bandwidths::MB_PER_S }>,
};

/// Runs and searches.
const OWN: &[Own] = &[
    Own::default("stop.of", Derived("the response of each job")).holds(Kind::Measures {
        example: "[\"io.response\"]",
        named: true,
    }),
    Own::default("stop.messages_first", Value("500")),
    Own::default("stop.messages_max", Value("100000")),
    Own::default("stop.messages", Value("15000")).meaning(
        "Messages of a replication, warm-up included; each of as many packets as it fills",
    ),
    Own::default("stop.warmup_messages", Value("5000"))
        .meaning("Messages to discard at the start of a run, each of as many packets as it fills"),
    Own::default("search.over", Required).holds(Kind::Choice(LOAD_KEYS)),
    Own::default("search.from", Required)
        .holds(Kind::Offered { usual: "MB/s" })
        .such_as("\"5 MB/s\""),
    Own::default("search.to", Required)
        .holds(Kind::Offered { usual: "MB/s" })
        .such_as("\"80 MB/s\""),
];

/// The tables of a kind with jobs: those of the machine and of the work, and what can fail.
pub(crate) const fn tables(
    machine: fn() -> Vec<Field>,
    workload: fn() -> Vec<Field>,
    presets: Option<&'static Presets>,
    faults: Option<Faults>,
) -> Tables {
    Tables {
        machine,
        workload,
        named: Some(NAMED),
        own: OWN,
        loads: LOADS,
        presets,
        faults,
    }
}

/// The fields of `[workload]` beside the jobs, and of the devices behind servers.
pub(crate) fn workload<T: Describe>() -> Vec<Field> {
    let jobs = Rows::of::<T>("workload").into_iter();
    jobs.chain(Rows::of::<StorageTable>(DEVICE)).collect()
}
