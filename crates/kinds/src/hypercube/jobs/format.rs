//! What files say of it.

use super::super::table::MachineTable;
use super::super::{Hypercube, failures, machine, vain};
use super::table::JobsTable;
use super::{HypercubeJobs, workload};
use crate::devices::{DEVICE, StorageTable};
use crate::jobs::{self, behind};
use isthmus_machine::hypercube::spec::{HypercubeSpec, JobsOnCube};
use isthmus_scenario::format::{
    Asked, Failures, Format, Problem, Reason, Rows, Settings, Tables, Watch,
};

impl Format for HypercubeJobs {
    const NAME: &'static str = Hypercube::NAME;
    const FORM: &'static str = "hypercube-jobs";
    const TABLES: Tables = Tables {
        machine: || Rows::of::<MachineTable>("machine"),
        workload: || {
            let jobs = Rows::of::<JobsTable>("workload").into_iter();
            jobs.chain(Rows::of::<StorageTable>(DEVICE)).collect()
        },
        named: Some(jobs::NAMED),
        own: jobs::OWN,
        loads: jobs::LOADS,
        presets: None,
        faults: Some(failures::FAULTS),
    };
    type Machine = HypercubeSpec;
    type Work = JobsOnCube;

    fn machine(settings: &Settings) -> Result<HypercubeSpec, Problem> {
        machine::build(settings)
    }

    fn work(settings: &Settings, machine: &HypercubeSpec) -> Result<JobsOnCube, Problem> {
        workload::build(settings, machine)
    }

    fn watch(watch: &mut Watch<'_>, machine: &HypercubeSpec, work: &JobsOnCube) {
        vain::machine(watch, machine);
        let other = work.jobs.storage != workload::own(&machine.device);
        let used = behind::is_used(&work.jobs);
        let causes = behind::causes(watch);
        let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
        for field in [
            "access",
            "cache_hit_rate",
            "service",
            "disk.seek",
            "disk.rotation",
            "disk.transfer",
        ] {
            watch.field(
                &format!("machine.device.{field}"),
                (other || !used).then(|| {
                    match other {
                    false => Reason {
                        problem: "it has no effect: no job reads from or writes to an I/O node"
                            .to_owned(),
                        hint: "remove it, or add a job with traffic = \"io\" or \"checkpoint\""
                            .to_owned(),
                        causes: &causes,
                    },
                    true => Reason {
                    problem:
                        "it has no effect with a workload.servers.device, which stands behind the \
                              I/O nodes instead"
                            .to_owned(),
                    hint: "remove it, or set workload.servers.device.kind = \"none\"".to_owned(),
                    causes: &["workload.servers.device.kind"],
                    },
                }
                }),
            );
        }
        if other {
            behind::watch(watch, &work.jobs);
        }
    }

    fn derived(machine: &HypercubeSpec) -> Vec<(&'static str, String)> {
        machine::derived(machine)
    }

    fn failures(machine: &HypercubeSpec, asked: &Asked) -> Option<Failures> {
        failures::of_cube(machine, asked)
    }
}
