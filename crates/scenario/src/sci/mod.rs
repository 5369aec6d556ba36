//! `machine.kind = "sci"`: a fabric of SCI rings joined by switch nodes.

mod build;
mod table;
mod workload;

use crate::control;
use crate::describe::Rows;
use crate::field::Default::Value;
use crate::field::{Field, Kind};
use crate::kind::{LoadValue, Loads, MachineKind, NoLoad};
use crate::machine::Machine;
use crate::search::{self, Load};
use crate::value;
use crate::workload::Workload;

use table::{MachineTable, WorkloadTable};

pub(crate) use build::node_count;

pub(crate) const KIND: MachineKind = MachineKind {
    name: "sci",
    fields: || Rows::of::<MachineTable>("machine"),
    workload_fields: || Rows::of::<WorkloadTable>("workload"),
    named: None,
    rows,
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

fn rows() -> Vec<Field> {
    vec![
        Field::new(
            "stop.of",
            Kind::Measures {
                example: "[\"latency\"]",
                named: false,
            },
            Value("[\"latency\"]"),
            "measures",
            "Measures that must be known; one that a point cannot give is not waited for",
        )
        .only("stop.rule", &["precision"]),
        control::messages_first("15000"),
        control::messages_max("2000000"),
        control::messages(
            "150000",
            "Messages of a replication, warm-up included (section 5: 150,000)",
        ),
        control::warmup_messages(
            "50000",
            "Messages to discard at the start of a run (section 5: 50,000)",
        ),
        search::over(workload::LOAD_KEYS),
        search::from(Kind::Offered { usual: "GB/s" }, "\"1 GB/s\""),
        search::to(Kind::Offered { usual: "GB/s" }, "\"20 GB/s\""),
    ]
}

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
