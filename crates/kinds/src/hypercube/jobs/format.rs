//! Format of scenario files of hypercubes with jobs: their tables, and the conversion of these to a machine and a
//! workload.

use super::super::table::MachineTable;
use super::super::{Hypercube, failures, machine, no_effect};
use super::table::JobsTable;
use super::{HypercubeJobs, workload};
use crate::jobs::{self, behind};
use isthmus_machine::hypercube::spec::{HypercubeSpec, JobsOnCube};
use isthmus_scenario::format::{Asked, Failures, Format, Problem, Rows, Settings, Tables, Watch};

impl Format for HypercubeJobs {
    /// Value of `machine.kind` in scenario files of this kind, as for the kind without jobs.
    const NAME: &'static str = Hypercube::NAME;
    /// Name of this form of scenario files: those with jobs.
    const FORM: &'static str = "hypercube-jobs";
    /// Description of the tables of a scenario file of this kind with jobs.
    const TABLES: Tables = jobs::tables(
        || Rows::of::<MachineTable>("machine"),
        jobs::workload::<JobsTable>,
        None,
        Some(&failures::FAULTS),
    );
    /// Type that describes a machine of this kind, a hypercube, in a scenario.
    type Machine = HypercubeSpec;
    /// Type that describes the workload: the jobs that run on the machine.
    type Work = JobsOnCube;

    /// Read the description of a hypercube from `[machine]` of a scenario file and check it.
    fn machine(settings: &Settings) -> Result<HypercubeSpec, Problem> {
        machine::build(settings)
    }

    /// Read the workload from `[workload]` of a scenario file and check it against the machine.
    fn work(settings: &Settings, machine: &HypercubeSpec) -> Result<JobsOnCube, Problem> {
        workload::build(settings, machine)
    }

    /// Report to `watch` the fields of the scenario file that have no effect.
    fn watch(watch: &mut Watch<'_>, machine: &HypercubeSpec, work: &JobsOnCube) {
        no_effect::lanes(watch, machine);
        let replaced = work.jobs.storage.is_some();
        let pes = 1 << machine.dimension;
        no_effect::own_device(watch, machine, replaced, behind::is_used(&work.jobs, pes));
        crate::jobs::watch(watch, &work.jobs, pes);
        if replaced {
            behind::watch(watch, &work.jobs, pes);
        }
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
