//! Format of scenario files of SCI fabrics: their tables, and the conversion of these to a machine and a workload.

use super::{Sci, build, failures, workload};
use crate::{bandwidths, runs};
use isthmus_machine::sci::spec::SciSpec;
use isthmus_scenario::format::{
    Asked, Choice, Failures, Field, Format, Loads, Measures, Problem, Rows, Settings, Tables,
    Throughput,
};
use isthmus_workload::packets::spec::PacketTraffic;

use super::table::{MachineTable, WorkloadTable};

impl Format for Sci {
    const NAME: &'static str = "sci";
    const TABLES: Tables = Tables {
        machine: || Rows::of::<MachineTable>("machine"),
        workload: || Rows::of::<WorkloadTable>("workload"),
        named: None,
        own: adapt_field,
        loads: Loads {
            keys: Choice(workload::LOAD_KEYS),
            key: "workload.load",
            label: "offered load",
            unit: "GB/s",
            read: bandwidths::read::<{ bandwidths::GB_PER_S }>,
            write: bandwidths::write::<{ bandwidths::GB_PER_S }>,
        },
        presets: None,
        faults: Some(&failures::FAULTS),
    };
    /// Description of an SCI fabric in a scenario.
    type Machine = SciSpec;
    /// Description of the workload: the packets between nodes.
    type Work = PacketTraffic;

    /// Read the description of an SCI fabric from `[machine]` of a scenario file and check it.
    fn machine(settings: &Settings) -> Result<SciSpec, Problem> {
        build::build(settings)
    }

    /// Read the workload from `[workload]` of a scenario file and check it against the machine.
    fn work(settings: &Settings, machine: &SciSpec) -> Result<PacketTraffic, Problem> {
        workload::build(settings, machine)
    }

    /// Return the possible failures of the machine, or `None` if there are more than `asked` allows.
    fn failures(machine: &SciSpec, asked: &Asked) -> Option<Failures> {
        failures::of_fabric(machine, asked)
    }
}

/// Type of scenario fields whose value is a list of names of measures, such as `["latency"]`: a stopping rule applies
/// to these measures.
const MEASURES: Measures = Measures {
    example: "[\"latency\"]",
    named: false,
};

/// Type of a scenario field: an offered load, as a bandwidth.
const LOAD: Throughput = Throughput::offered("GB/s");

/// Return a field of the tables `[stop]` or `[search]`, with the default and the examples that it has for SCI fabrics.
fn adapt_field(row: Field) -> Field {
    let measures = "[\"latency\"]";
    runs::adapt_run_field(
        row,
        measures,
        &MEASURES,
        &LOAD,
        ("\"1 GB/s\"", "\"20 GB/s\""),
    )
}
