//! Format of scenario files of SCI fabrics with jobs: their tables, and the conversion of these to a machine and a
//! workload.

use super::super::table::MachineTable;
use super::super::{Sci, build, failures};
use super::table::JobsTable;
use super::{SciJobs, workload};
use crate::jobs::{self, behind};
use isthmus_machine::sci::spec::{JobsOnRings, SciSpec};
use isthmus_scenario::format::{Asked, Failures, Format, Problem, Rows, Settings, Tables, Watch};

impl Format for SciJobs {
    const NAME: &'static str = Sci::NAME;
    const FORM: &'static str = "sci-jobs";
    const TABLES: Tables = jobs::tables(
        || Rows::of::<MachineTable>("machine"),
        jobs::workload::<JobsTable>,
        None,
        Some(&failures::FAULTS),
    );
    type Machine = SciSpec;
    type Work = JobsOnRings;

    fn machine(settings: &Settings) -> Result<SciSpec, Problem> {
        build::build(settings)
    }

    fn work(settings: &Settings, machine: &SciSpec) -> Result<JobsOnRings, Problem> {
        workload::build(settings, machine)
    }

    fn watch(watch: &mut Watch<'_>, machine: &SciSpec, work: &JobsOnRings) {
        let nodes = machine.shape.node_count();
        behind::watch(watch, &work.jobs, nodes);
        crate::jobs::watch(watch, &work.jobs, nodes);
    }

    fn failures(machine: &SciSpec, asked: &Asked) -> Option<Failures> {
        failures::of_fabric(machine, asked)
    }
}
