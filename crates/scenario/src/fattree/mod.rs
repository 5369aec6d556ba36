//! `machine.kind = "fat-tree"`: nodes below levels of switches, and the jobs that run on them.

mod build;
mod jobs;
mod jobs_table;
mod misfit;
mod presets;
mod table;
mod vain;

use crate::describe::Rows;
use crate::field::Default::{Derived, Required, Value};
use crate::field::{Field, Own};
use crate::kind::{LoadValue, Loads, MachineKind, NoLoad};
use crate::load::Load;
use crate::machine::Machine;
use crate::named::Named;
use crate::value::{self, Kind};
use crate::workload::Workload;
use jobs_table::{JobTable, WorkloadTable};
use table::MachineTable;

pub(crate) const KIND: MachineKind = MachineKind {
    name: "fat-tree",
    fields,
    workload_fields: || Rows::of::<WorkloadTable>("workload"),
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
        keys: jobs::LOAD_KEYS,
        read: read_load,
        write: write_load,
    },
    build: |settings| build::build(settings).map(Machine::FatTree),
    build_workload: |settings, machine| match machine {
        Machine::FatTree(spec) => jobs::build(settings, spec).map(Workload::Jobs),
        _ => unreachable!("the schema of a fat tree builds a fat tree"),
    },
    watch: vain::watch,
    derived: build::derived,
    presets: Some(&presets::PRESETS),
};

/// The preset, whose values take the places of other fields before these are read, and those.
fn fields() -> Vec<Field> {
    let mut fields = vec![presets::field()];
    fields.extend(Rows::of::<MachineTable>("machine"));
    fields
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
    Own::default("search.over", Required).holds(Kind::Choice(jobs::LOAD_KEYS)),
    Own::default("search.from", Required)
        .holds(Kind::Offered { usual: "MB/s" })
        .such_as("\"5 MB/s\""),
    Own::default("search.to", Required)
        .holds(Kind::Offered { usual: "MB/s" })
        .such_as("\"80 MB/s\""),
];

fn read_load(_over: &str, value: &value::Value) -> Result<Load, NoLoad> {
    match value {
        value::Value::Bandwidth(bandwidth) => Ok(Load::PerNode(*bandwidth)),
        _ => unreachable!("the ends of a search are read as bandwidths"),
    }
}

fn write_load(load: Load) -> Result<LoadValue, &'static str> {
    match load {
        Load::PerNode(bandwidth) if bandwidth.bits_per_s() > 0 => Ok(LoadValue {
            key: "workload.load",
            value: value::Value::Bandwidth(bandwidth),
            written: format!("{} bit/s", bandwidth.bits_per_s()),
        }),
        _ => Err("give a bandwidth above 0"),
    }
}
