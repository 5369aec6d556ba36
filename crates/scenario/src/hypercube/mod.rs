//! `machine.kind = "hypercube"`: a binary hypercube of PEs with I/O nodes and an I/O network.

mod machine;
mod vain;
mod workload;

use crate::control;
use crate::field::Default::Value;
use crate::field::{Field, Kind};
use crate::kind::{LoadValue, Loads, MachineKind, NoLoad};
use crate::machine::Machine;
use crate::search::{self, Load};
use crate::value;
use crate::workload::Workload;
use isthmus_units::Rate;

pub(crate) use machine::io_node_count;

pub(crate) const KIND: MachineKind = MachineKind {
    name: "hypercube",
    fields: machine::fields,
    workload_fields: workload::fields,
    named: None,
    rows,
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

fn rows() -> Vec<Field> {
    vec![
        Field::new(
            "stop.of",
            Kind::Measures {
                example: "[\"pe_pe.header\"]",
                named: false,
            },
            Value("[\"pe_pe.header\", \"read.network\"]"),
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
        search::from(Kind::Load, "\"5 /ms\""),
        search::to(Kind::Load, "\"40 /ms\""),
    ]
}

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
