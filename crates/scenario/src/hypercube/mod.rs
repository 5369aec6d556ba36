//! `machine.kind = "hypercube"`: a binary hypercube of PEs with I/O nodes and an I/O network.

mod machine;
mod table;
mod vain;
mod workload;

use crate::describe::Rows;
use crate::field::Default::{Required, Value};
use crate::field::Own;
use crate::kind::{LoadValue, Loads, MachineKind, NoLoad};
use crate::load::Load;
use crate::machine::Machine;
use crate::value::{self, Kind};
use crate::workload::Workload;
use isthmus_units::Rate;

use table::{MachineTable, WorkloadTable};

pub(crate) use machine::io_node_count;

pub(crate) const KIND: MachineKind = MachineKind {
    name: "hypercube",
    fields: || Rows::of::<MachineTable>("machine"),
    workload_fields: || Rows::of::<WorkloadTable>("workload"),
    named: None,
    own: OWN,
    loads: Loads {
        keys: workload::LOAD_KEYS,
        read: read_load,
        write: write_load,
    },
    build: |settings| machine::build(settings).map(Machine::Hypercube),
    build_workload: |settings, machine| match machine {
        Machine::Hypercube(spec) => workload::build(settings, spec).map(Workload::Hypercube),
        _ => unreachable!("the schema of a hypercube builds a hypercube"),
    },
    watch: vain::watch,
    derived: machine::derived,
    presets: None,
};

const OWN: &[Own] = &[
    Own::default("stop.of", Value("[\"pe_pe.header\", \"read.network\"]")).holds(Kind::Measures {
        example: "[\"pe_pe.header\"]",
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
        .holds(Kind::Load)
        .such_as("\"5 /ms\""),
    Own::default("search.to", Required)
        .holds(Kind::Load)
        .such_as("\"40 /ms\""),
];

/// A rate, or the rate of a mean gap.
fn read_load(over: &str, value: &value::Value) -> Result<Load, NoLoad> {
    match (over, value) {
        ("workload.interarrival", value::Value::Time(time)) => {
            Ok(Load::Rate(Rate::from_per_s(1.0 / time.seconds())))
        }
        ("workload.interarrival", _) => Err(NoLoad {
            problem: "a rate where search.over = \"workload.interarrival\" expects a time",
            hint: "write a time, for example \"0.156 ms\"",
        }),
        (_, value::Value::Rate(rate)) => Ok(Load::Rate(*rate)),
        _ => Err(NoLoad {
            problem: "a time where search.over = \"workload.rate\" expects a rate",
            hint: "write a rate, for example \"6.4 /ms\"",
        }),
    }
}

/// The mean interarrival time of a rate, in whole picoseconds.
fn write_load(load: Load) -> Result<LoadValue, &'static str> {
    let possible = "keep between one in 24 h and one in 1 ps";
    let Load::Rate(rate) = load else {
        return Err(possible);
    };
    let gap = 1e12 / rate.per_s();
    if !(gap >= 1.0 && gap <= value::TIME_MAX.ps() as f64) {
        return Err(possible);
    }
    let mean = value::mean_gap(rate);
    Ok(LoadValue {
        key: "workload.interarrival",
        value: value::Value::Time(mean),
        written: format!("{} ps", mean.ps()),
    })
}
