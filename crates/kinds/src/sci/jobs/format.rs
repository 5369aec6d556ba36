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
    /// Name of the kind of machine in scenario files.
    const NAME: &'static str = Sci::NAME;
    /// Unique name of this form of scenario file.
    const FORM: &'static str = "sci-jobs";
    /// Fields of the scenario tables of this kind of machine.
    const TABLES: Tables = jobs::tables(
        || Rows::of::<MachineTable>("machine"),
        jobs::workload::<JobsTable>,
        None,
        Some(&failures::FAULTS),
    );
    /// Description of the machine.
    type Machine = SciSpec;
    /// Description of the workload.
    type Work = JobsOnRings;

    /// Return the machine that the scenario file describes.
    fn machine(settings: &Settings) -> Result<SciSpec, Problem> {
        build::build(settings)
    }

    /// Return the workload that the scenario file describes, checked against the machine.
    fn work(settings: &Settings, machine: &SciSpec) -> Result<JobsOnRings, Problem> {
        workload::build(settings, machine)
    }

    /// Report the fields of machine and workload that have no effect.
    fn watch(watch: &mut Watch<'_>, machine: &SciSpec, work: &JobsOnRings) {
        let nodes = machine.shape.node_count();
        behind::watch(watch, &work.jobs, nodes);
        crate::jobs::watch(watch, &work.jobs, nodes);
    }

    /// Return the failure states of the machine in addition to its given faults.
    fn failures(machine: &SciSpec, asked: &Asked) -> Option<Failures> {
        failures::of_fabric(machine, asked)
    }
}
