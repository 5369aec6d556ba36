//! `machine.kind = "fat-tree"`: nodes below levels of switches, and the jobs that run on them.

mod build;
mod fields;
mod jobs;
mod jobs_fields;
mod misfit;
mod presets;
mod vain;

use crate::control;
use crate::field::Default::Derived;
use crate::field::{Field, Kind};
use crate::kind::{LoadValue, Loads, MachineKind, NoLoad};
use crate::machine::Machine;
use crate::named::Named;
use crate::search::{self, Load};
use crate::value;
use crate::workload::Workload;

pub(crate) const KIND: MachineKind = MachineKind {
    name: "fat-tree",
    fields: fields::fields,
    workload_fields: jobs_fields::fields,
    named: Some(Named {
        table: "workload.jobs",
        one: "job",
        most: 64,
        measure: "response",
        taken: &["servers"],
        rows: jobs_fields::of_job,
    }),
    rows,
    loads: Loads {
        keys: jobs_fields::LOAD_KEYS,
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

fn rows() -> Vec<Field> {
    vec![
        Field::new(
            "stop.of",
            Kind::Measures {
                example: "[\"io.response\"]",
                named: true,
            },
            Derived("the response of each job"),
            "measures",
            "Measures that must be known; one that a point cannot give is not waited for",
        )
        .only("stop.rule", &["precision"]),
        control::messages_first("500"),
        control::messages_max("100000"),
        control::messages(
            "15000",
            "Messages of a replication, warm-up included; each of as many packets as it fills",
        ),
        control::warmup_messages(
            "5000",
            "Messages to discard at the start of a run, each of as many packets as it fills",
        ),
        search::over(jobs_fields::LOAD_KEYS),
        search::from(Kind::Offered { usual: "MB/s" }, "\"5 MB/s\""),
        search::to(Kind::Offered { usual: "MB/s" }, "\"80 MB/s\""),
    ]
}

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
