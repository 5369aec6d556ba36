//! Format of scenario files of fat trees: their tables, and the conversion of these to a machine and a workload.

use super::table::MachineTable;
use super::{FatTree, build};
use crate::packets;
use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_scenario::format::{Field, Format, Problem, Rows, Settings, Tables, Watch};
use isthmus_workload::jobs::spec::JobsTraffic;

impl Format for FatTree {
    const NAME: &'static str = "fat-tree";
    const TABLES: Tables = packets::tables(fields, Some(&packets::OF_TREES));
    /// The type that describes a fat tree after a scenario file is parsed.
    type Machine = FatTreeSpec;
    /// Description of the workload: the jobs that run on the machine.
    type Work = JobsTraffic;

    /// Read the description of a fat tree from `[machine]` of a scenario file and check it.
    fn machine(settings: &Settings) -> Result<FatTreeSpec, Problem> {
        build::build(settings)
    }

    /// Read the workload from `[workload]` of a scenario file and check it against the machine.
    fn work(settings: &Settings, machine: &FatTreeSpec) -> Result<JobsTraffic, Problem> {
        // The default 0 is never used: the check of the machine has found that its number of nodes is valid.
        let nodes = machine.shape.node_count().unwrap_or(0);
        packets::jobs(settings, &machine.network, nodes)
    }

    /// Report to `watch` the fields of the scenario file that have no effect.
    fn watch(watch: &mut Watch<'_>, machine: &FatTreeSpec, work: &JobsTraffic) {
        let nodes = machine.shape.node_count().unwrap_or(0);
        packets::watch(watch, &machine.network, work, nodes);
    }

    /// Return the fields whose values follow from other fields, each with its value as text.
    fn derived(machine: &FatTreeSpec) -> Vec<(&'static str, String)> {
        packets::derived(&machine.network)
    }
}

/// Return the fields of `[machine]`. The preset comes first: its values replace the defaults of the other fields.
fn fields() -> Vec<Field> {
    let mut fields = vec![packets::preset()];
    fields.extend(Rows::of::<MachineTable>("machine"));
    fields
}
