//! Scenario tables for jobs. They are the same for all kinds of machines that run jobs.

use super::table::JobTable;
use crate::bandwidths;
use crate::devices::{DEVICE, StorageTable};
use isthmus_scenario::format::Default::{Derived, Value};
use isthmus_scenario::format::{
    Choice, Describe, Faults, Field, Loads, Measures, Named, Presets, Rows, Tables, Throughput,
};

/// Description of the tables `[workload.jobs.NAME]`, one for each job.
const NAMED: Named = Named {
    table: "workload.jobs",
    one: "job",
    most: 64,
    measure: "response",
    taken: &["servers"],
    rows: |path| Rows::of::<JobTable>(path),
};

/// Fields that set the offered load of open loops, per node.
const LOADS: Loads = Loads {
    keys: Choice(&["workload.load"]),
    key: "workload.load",
    label: "offered load per node",
    unit: "MB/s",
    read: bandwidths::read::<{ bandwidths::MB_PER_S }>,
    write: bandwidths::write::<{ bandwidths::MB_PER_S }>,
};

/// Type of scenario fields whose value is a list of names of measures, such as `["io.response"]`: a stopping rule
/// applies to these measures.
const MEASURES: Measures = Measures {
    example: "[\"io.response\"]",
    named: true,
};
/// Type of a scenario field: an offered load, as a bandwidth.
const LOAD: Throughput = Throughput::offered("MB/s");

/// Return a field of the tables `[stop]` or `[search]`, with the default and the description that it has on machines
/// with jobs.
fn adapt_field(row: Field) -> Field {
    match &*row.key {
        "stop.of" => row
            .by_default(Derived("the response of each job"))
            .holding(&MEASURES),
        "stop.messages_first" => row.by_default(Value("500")),
        "stop.messages_max" => row.by_default(Value("100000")),
        "stop.messages" => row.by_default(Value("15000")).meaning(
            "Messages of a replication, warm-up included; each of as many packets as it fills",
        ),
        "stop.warmup_messages" => row.by_default(Value("5000")).meaning(
            "Messages to discard at the start of a run, each of as many packets as it fills",
        ),
        "search.from" => row.holding(&LOAD).such_as("\"5 MB/s\""),
        "search.to" => row.holding(&LOAD).such_as("\"80 MB/s\""),
        _ => row,
    }
}

/// Return the scenario tables of a kind of machine with jobs, from its fields of `[machine]` and `[workload]`,
/// presets and faults.
pub(crate) const fn tables(
    machine: fn() -> Vec<Field>,
    workload: fn() -> Vec<Field>,
    presets: Option<&'static Presets>,
    faults: Option<&'static Faults>,
) -> Tables {
    Tables {
        machine,
        workload,
        named: Some(NAMED),
        own: adapt_field,
        loads: LOADS,
        presets,
        faults,
    }
}

/// Return the fields of the table `[workload]` of type `T`, without those of single jobs, and the fields of the
/// servers' storage devices.
pub(crate) fn workload<T: Describe>() -> Vec<Field> {
    let jobs = Rows::of::<T>("workload").into_iter();
    jobs.chain(Rows::of::<StorageTable>(DEVICE)).collect()
}
