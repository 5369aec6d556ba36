//! `machine.kind = "sci"`: a fabric of SCI rings joined by switch nodes.

mod build;
mod table;
mod workload;

use crate::describe::Rows;
use crate::field::Default::{Required, Value};
use crate::field::Own;
use crate::kind::{LoadValue, Loads, MachineKind, NoLoad};
use crate::load::Load;
use crate::machine::Machine;
use crate::value::{self, Kind};
use crate::workload::Workload;

use table::{MachineTable, WorkloadTable};

pub(crate) use build::node_count;

pub(crate) const KIND: MachineKind = MachineKind {
    name: "sci",
    fields: || Rows::of::<MachineTable>("machine"),
    workload_fields: || Rows::of::<WorkloadTable>("workload"),
    named: None,
    own: OWN,
    loads: Loads {
        keys: workload::LOAD_KEYS,
        read: read_load,
        write: write_load,
    },
    build: |settings| build::build(settings).map(Machine::Sci),
    build_workload: |settings, machine| match machine {
        Machine::Sci(spec) => workload::build(settings, spec).map(Workload::Packets),
        _ => unreachable!("the schema of a fabric builds a fabric"),
    },
    watch: |_, _, _| {},
    derived: |_| Vec::new(),
    presets: None,
};

const OWN: &[Own] = &[
    Own::default("stop.of", Value("[\"latency\"]")).holds(Kind::Measures {
        example: "[\"latency\"]",
        named: false,
    }),
    Own::default("stop.messages_first", Value("15000")),
    Own::default("stop.messages_max", Value("2000000")),
    Own::default("stop.messages", Value("150000"))
        .meaning("Messages of a replication, warm-up included (section 5: 150,000)"),
    Own::default("stop.warmup_messages", Value("50000"))
        .meaning("Messages to discard at the start of a run (section 5: 50,000)"),
    Own::default("search.over", Required).holds(Kind::Choice(workload::LOAD_KEYS)),
    Own::default("search.from", Required)
        .holds(Kind::Offered { usual: "GB/s" })
        .such_as("\"1 GB/s\""),
    Own::default("search.to", Required)
        .holds(Kind::Offered { usual: "GB/s" })
        .such_as("\"20 GB/s\""),
];

fn read_load(_over: &str, value: &value::Value) -> Result<Load, NoLoad> {
    match value {
        value::Value::Bandwidth(bandwidth) => Ok(Load::Bandwidth(*bandwidth)),
        _ => unreachable!("the ends of a search are read as bandwidths"),
    }
}

fn write_load(load: Load) -> Result<LoadValue, &'static str> {
    match load {
        Load::Bandwidth(bandwidth) if bandwidth.bits_per_s() > 0 => Ok(LoadValue {
            key: "workload.load",
            value: value::Value::Bandwidth(bandwidth),
            written: format!("{} bit/s", bandwidth.bits_per_s()),
        }),
        _ => Err("give a bandwidth above 0"),
    }
}
