//! What files with networks of packets say alike.

use super::jobs::LOAD_KEYS;
use super::jobs_table::{JobTable, WorkloadTable};
use crate::bandwidths;
use isthmus_scenario::format::Default::{Derived, Required, Value};
use isthmus_scenario::format::{Field, Kind, Loads, Named, Own, Presets, Rows, Tables};

/// The tables of a kind whose fields of `[machine]` these are.
pub(crate) const fn tables(
    machine: fn() -> Vec<Field>,
    presets: Option<&'static Presets>,
) -> Tables {
    Tables {
        machine,
        workload: || Rows::of::<WorkloadTable>("workload"),
        named: Some(Named {
            table: "workload.jobs",
            one: "job",
            most: 64,
            measure: "response",
            taken: &["servers"],
            rows: |path| Rows::of::<JobTable>(path),
        }),
        own: OWN,
        loads: Loads {
            keys: LOAD_KEYS,
            key: "workload.load",
            label: "offered load per node",
            unit: "MB/s",
            read: bandwidths::read::<{ bandwidths::MB_PER_S }>,
            write: bandwidths::write::<{ bandwidths::MB_PER_S }>,
        },
        presets,
        faults: None,
    }
}

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
