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
    /// Value of `machine.kind` in scenario files of this kind, as for the kind without jobs.
    const NAME: &'static str = Sci::NAME;
    /// Name of this form of scenario files: those with jobs.
    const FORM: &'static str = "sci-jobs";
    /// Description of the tables of a scenario file of this kind with jobs.
    const TABLES: Tables = jobs::tables(
        || Rows::of::<MachineTable>("machine"),
        jobs::workload::<JobsTable>,
        None,
        Some(&failures::FAULTS),
    );
    /// Type that describes a machine of this kind, an SCI fabric, in a scenario.
    type Machine = SciSpec;
    /// Type that describes the workload: the jobs that run on the machine.
    type Work = JobsOnRings;

    /// Read the description of an SCI fabric from `[machine]` of a scenario file and check it.
    fn machine(settings: &Settings) -> Result<SciSpec, Problem> {
        build::build(settings)
    }

    /// Read the workload from `[workload]` of a scenario file and check it against the machine.
    fn work(settings: &Settings, machine: &SciSpec) -> Result<JobsOnRings, Problem> {
        workload::build(settings, machine)
    }

    /// Report to `watch` the fields of the scenario file that have no effect.
    fn watch(watch: &mut Watch<'_>, machine: &SciSpec, work: &JobsOnRings) {
        let nodes = machine.shape.node_count();
        behind::watch(watch, &work.jobs, nodes);
        crate::jobs::watch(watch, &work.jobs, nodes);
    }

    /// Return the possible failures of the machine, or `None` if there are more than `asked` allows.
    fn failures(machine: &SciSpec, asked: &Asked) -> Option<Failures> {
        failures::of_fabric(machine, asked)
    }
}
