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
    /// Name of the kind of machine in scenario files.
    const NAME: &'static str = Hypercube::NAME;
    /// Unique name of this form of scenario file.
    const FORM: &'static str = "hypercube-jobs";
    /// Fields of the scenario tables of this kind of machine.
    const TABLES: Tables = jobs::tables(
        || Rows::of::<MachineTable>("machine"),
        jobs::workload::<JobsTable>,
        None,
        Some(&failures::FAULTS),
    );
    /// Description of the machine.
    type Machine = HypercubeSpec;
    /// Description of the workload.
    type Work = JobsOnCube;

    /// Return the machine that the scenario file describes.
    fn machine(settings: &Settings) -> Result<HypercubeSpec, Problem> {
        machine::build(settings)
    }

    /// Return the workload that the scenario file describes, checked against the machine.
    fn work(settings: &Settings, machine: &HypercubeSpec) -> Result<JobsOnCube, Problem> {
        workload::build(settings, machine)
    }

    /// Report the fields of machine and workload that have no effect.
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

    /// Return the fields of `[machine]` whose values follow from other fields, with these values.
    fn derived(machine: &HypercubeSpec) -> Vec<(&'static str, String)> {
        machine::derived(machine)
    }

    /// Return the failure states of the machine in addition to its given faults.
    fn failures(machine: &HypercubeSpec, asked: &Asked) -> Option<Failures> {
        failures::of_cube(machine, asked)
    }
}
