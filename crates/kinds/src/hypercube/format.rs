//! Format of scenario files of hypercubes: their tables, and the conversion of these to a machine and a workload.

use super::{Hypercube, failures, machine, no_effect, workload};
use crate::runs;
use crate::values::{RateLoad, RateOrGap, mean_gap};
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_scenario::format::{
    Asked, Choice, Failures, Field, Format, LoadValue, Loads, Measures, NoLoad, Problem, Rows,
    Settings, TIME_MAX, Tables, Value, Watch,
};
use isthmus_workload::spec::TrafficSpec;

use isthmus_units::Rate;

use super::table::{MachineTable, WorkloadTable};

impl Format for Hypercube {
    /// Value of `machine.kind` in scenario files of this kind.
    const NAME: &'static str = "hypercube";
    /// Description of the tables of a scenario file of this kind.
    const TABLES: Tables = Tables {
        machine: || Rows::of::<MachineTable>("machine"),
        workload: || Rows::of::<WorkloadTable>("workload"),
        named: None,
        own: adapt_field,
        loads: Loads {
            keys: Choice(workload::LOAD_KEYS),
            key: "workload.rate",
            label: "offered load per PE",
            unit: "/ms",
            read: read_load,
            write: write_load,
        },
        presets: None,
        faults: Some(&failures::FAULTS),
    };
    /// Type that describes a machine of this kind, a hypercube, in a scenario.
    type Machine = HypercubeSpec;
    /// Type that describes the workload: the demands (messages and I/O operations) of the PEs (processing elements).
    type Work = TrafficSpec;

    /// Read the description of a hypercube from `[machine]` of a scenario file and check it.
    fn machine(settings: &Settings) -> Result<HypercubeSpec, Problem> {
        machine::build(settings)
    }

    /// Read the workload from `[workload]` of a scenario file and check it against the machine.
    fn work(settings: &Settings, machine: &HypercubeSpec) -> Result<TrafficSpec, Problem> {
        workload::build(settings, machine)
    }

    /// Report to `watch` the fields of the scenario file that have no effect.
    fn watch(watch: &mut Watch<'_>, machine: &HypercubeSpec, work: &TrafficSpec) {
        no_effect::watch(watch, machine, work);
    }

    /// Return the fields whose values follow from other fields, each with its value as text.
    fn derived(machine: &HypercubeSpec) -> Vec<(&'static str, String)> {
        machine::derived(machine)
    }

    /// Return the possible failures of the machine, or `None` if there are more than `asked` allows.
    fn failures(machine: &HypercubeSpec, asked: &Asked) -> Option<Failures> {
        failures::of_cube(machine, asked)
    }
}

/// Type of scenario fields that list measures, such as latencies, for a stopping rule.
const MEASURES: Measures = Measures {
    example: "[\"pe_pe.header\"]",
    named: false,
};

/// Return a field of `[stop]` or `[search]`, adapted to hypercubes.
fn adapt_field(row: Field) -> Field {
    let measures = "[\"pe_pe.header\", \"read.network\"]";
    runs::adapt_run_field(
        row,
        measures,
        &MEASURES,
        &RateLoad,
        ("\"5 /ms\"", "\"40 /ms\""),
    )
}

/// Return the load that a value of a scenario file sets, in demands per ms. The value is a rate or a mean gap.
fn read_load(over: &str, value: &Value) -> Result<f64, NoLoad> {
    match (over, value.as_()) {
        ("workload.interarrival", Some(RateOrGap::Gap(time))) => {
            Ok(Rate::from_per_s(1.0 / time.seconds()).per_ms())
        }
        ("workload.interarrival", _) => Err(NoLoad {
            problem: "a rate where search.over = \"workload.interarrival\" expects a time",
            hint: "write a time, for example \"0.156 ms\"",
        }),
        (_, Some(RateOrGap::Rate(rate))) => Ok(rate.per_ms()),
        _ => Err(NoLoad {
            problem: "a time where search.over = \"workload.rate\" expects a rate",
            hint: "write a rate, for example \"6.4 /ms\"",
        }),
    }
}

/// Return the field and the text that set a load of `per_ms` demands per ms in a scenario file: the mean interarrival
/// time in whole picoseconds.
fn write_load(per_ms: f64) -> Result<LoadValue, &'static str> {
    let rate = Rate::from_per_s(per_ms * 1e3);
    let gap = 1e12 / rate.per_s();
    if !(gap >= 1.0 && gap <= TIME_MAX.ps() as f64) {
        return Err("keep between one in 24 h and one in 1 ps");
    }
    let mean = mean_gap(rate);
    Ok(LoadValue {
        key: "workload.interarrival",
        written: format!("{} ps", mean.ps()),
    })
}
