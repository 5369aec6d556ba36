//! What files say of it.

use super::{Sci, build, workload};
use crate::bandwidths;
use isthmus_machine::sci::spec::SciSpec;
use isthmus_scenario::format::Default::{Required, Value};
use isthmus_scenario::format::{Format, Kind, Loads, Own, Problem, Rows, Settings, Tables};
use isthmus_workload::packets::spec::PacketTraffic;

use super::table::{MachineTable, WorkloadTable};

impl Format for Sci {
    const NAME: &'static str = "sci";
    const TABLES: Tables = Tables {
        machine: || Rows::of::<MachineTable>("machine"),
        workload: || Rows::of::<WorkloadTable>("workload"),
        named: None,
        own: OWN,
        loads: Loads {
            keys: workload::LOAD_KEYS,
            key: "workload.load",
            label: "offered load",
            unit: "GB/s",
            read: bandwidths::read::<{ bandwidths::GB_PER_S }>,
            write: bandwidths::write::<{ bandwidths::GB_PER_S }>,
        },
        presets: None,
    };
    type Machine = SciSpec;
    type Work = PacketTraffic;

    fn machine(settings: &Settings) -> Result<SciSpec, Problem> {
        build::build(settings)
    }

    fn work(settings: &Settings, machine: &SciSpec) -> Result<PacketTraffic, Problem> {
        workload::build(settings, machine)
    }
}

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
