//! Fields of a hypercube that have no effect because of the values of other fields.

use crate::jobs::behind;
use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_scenario::format::{Reason, Watch};
use isthmus_workload::spec::TrafficSpec;

/// Report to `watch`, which checks the fields of a scenario file, those numbers of lanes that have no effect.
pub(super) fn lanes(watch: &mut Watch<'_>, cube: &HypercubeSpec) {
    let unused = [
        ("machine.lanes.io_source", cube.lanes.io_source),
        ("machine.lanes.io_to_pe", cube.lanes.io_to_pe),
    ];
    for (key, lanes) in unused {
        // Report only numbers of lanes above 0: a value of 0 agrees with the missing I/O network.
        watch.field(
            key,
            (cube.lanes.io_link == 0 && lanes > 0).then(|| Reason {
                problem: "it has no effect with machine.lanes.io_link = 0: there is no I/O network"
                    .to_owned(),
                hint: "remove it, or set machine.lanes.io_link to 1 or more".to_owned(),
                causes: &["machine.lanes.io_link"],
            }),
        );
    }
}

/// Report to `watch`, which checks the fields of a scenario file, that the fields of disks have no effect, if no block
/// comes from a disk.
fn disks(watch: &mut Watch<'_>, cube: &HypercubeSpec) {
    for key in [
        "machine.device.disk.seek",
        "machine.device.disk.rotation",
        "machine.device.disk.transfer",
    ] {
        watch.field(
            key,
            (cube.device.cache_hit_rate >= 1.0).then(|| Reason {
                problem: "it has no effect with machine.device.cache_hit_rate = 1: no block comes \
                          from a disk"
                    .to_owned(),
                hint: "remove it, or set a lower machine.device.cache_hit_rate".to_owned(),
                causes: &["machine.device.cache_hit_rate"],
            }),
        );
    }
}

/// Report to `watch` the fields of the cache and the disk of I/O nodes that have no effect. `replaced` means that
/// another device is used instead; `used` means that the traffic uses I/O nodes.
pub(super) fn own_device(watch: &mut Watch<'_>, cube: &HypercubeSpec, replaced: bool, used: bool) {
    if used && !replaced {
        return disks(watch, cube);
    }
    let causes = behind::causes(watch);
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    let (problem, hint, causes) = match replaced {
        true => (
            "it has no effect with a workload.servers.device, which stands behind the I/O nodes instead",
            "remove it, or set workload.servers.device.kind = \"none\"",
            &["workload.servers.device.kind"][..],
        ),
        false => (
            "it has no effect: no job reads from or writes to an I/O node",
            "remove it, or add a job with traffic = \"io\" or \"checkpoint\"",
            &causes[..],
        ),
    };
    for field in [
        "access",
        "cache_hit_rate",
        "service",
        "disk.seek",
        "disk.rotation",
        "disk.transfer",
    ] {
        let reason = Reason {
            problem: problem.to_owned(),
            hint: hint.to_owned(),
            causes,
        };
        watch.field(&format!("machine.device.{field}"), Some(reason));
    }
}

/// Report to `watch`, which checks the fields of a scenario file, all fields that have no effect under this traffic.
pub(super) fn watch(watch: &mut Watch<'_>, cube: &HypercubeSpec, traffic: &TrafficSpec) {
    lanes(watch, cube);
    disks(watch, cube);
    for key in ["workload.locality", "workload.read_ratio"] {
        watch.field(
            key,
            (traffic.io_probability <= 0.0).then(|| Reason {
                problem: "it has no effect with workload.io_probability = 0: there is no I/O"
                    .to_owned(),
                hint: "remove it, or set workload.io_probability above 0".to_owned(),
                causes: &["workload.io_probability"],
            }),
        );
    }
}
