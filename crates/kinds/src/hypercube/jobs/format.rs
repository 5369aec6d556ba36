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
    const NAME: &'static str = Hypercube::NAME;
    const FORM: &'static str = "hypercube-jobs";
    const TABLES: Tables = jobs::tables(
        || Rows::of::<MachineTable>("machine"),
        jobs::workload::<JobsTable>,
        None,
        Some(&failures::FAULTS),
    );
    type Machine = HypercubeSpec;
    type Work = JobsOnCube;

    fn machine(settings: &Settings) -> Result<HypercubeSpec, Problem> {
        machine::build(settings)
    }

    fn work(settings: &Settings, machine: &HypercubeSpec) -> Result<JobsOnCube, Problem> {
        workload::build(settings, machine)
    }

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

    fn derived(machine: &HypercubeSpec) -> Vec<(&'static str, String)> {
        machine::derived(machine)
    }

    fn failures(machine: &HypercubeSpec, asked: &Asked) -> Option<Failures> {
        failures::of_cube(machine, asked)
    }
}
