//! What files say of it.

use super::{FatTree, build, jobs, presets, vain};
use crate::bandwidths;
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_scenario::format::Default::{Derived, Required, Value};
use isthmus_scenario::format::{
    Field, Format, Kind, Loads, Named, Own, Problem, Rows, Settings, Tables, Watch,
};
use isthmus_workload::jobs::spec::JobsTraffic;

use super::jobs_table::{JobTable, WorkloadTable};
use super::table::MachineTable;

impl Format for FatTree {
    const NAME: &'static str = "fat-tree";
    const TABLES: Tables = Tables {
        machine: fields,
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
            keys: jobs::LOAD_KEYS,
            key: "workload.load",
            label: "offered load per node",
            unit: "MB/s",
            read: bandwidths::read::<{ bandwidths::MB_PER_S }>,
            write: bandwidths::write::<{ bandwidths::MB_PER_S }>,
        },
        presets: Some(&presets::PRESETS),
    };
    type Machine = FatTreeSpec;
    type Work = JobsTraffic;

    fn machine(settings: &Settings) -> Result<FatTreeSpec, Problem> {
        build::build(settings)
    }

    fn work(settings: &Settings, machine: &FatTreeSpec) -> Result<JobsTraffic, Problem> {
        jobs::build(settings, machine)
    }

    fn watch(watch: &mut Watch<'_>, machine: &FatTreeSpec, work: &JobsTraffic) {
        vain::watch(watch, machine, work);
    }

    fn derived(machine: &FatTreeSpec) -> Vec<(&'static str, String)> {
        build::derived(machine)
    }
}

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
