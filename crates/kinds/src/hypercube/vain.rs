//! Fields of a hypercube that have no effect beside the values of others.

use isthmus_machine::hypercube::spec::HypercubeSpec;
use isthmus_scenario::format::{Reason, Watch};
use isthmus_workload::spec::TrafficSpec;

/// Tells `watch` of those of `[machine]`.
pub(super) fn machine(watch: &mut Watch<'_>, cube: &HypercubeSpec) {
    let lanes = [
        ("machine.lanes.io_source", cube.lanes.io_source),
        ("machine.lanes.io_to_pe", cube.lanes.io_to_pe),
    ];
    for (key, lanes) in lanes {
        // No lanes for no network is what there is.
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

/// Tells `watch` of all with what PEs ask for.
pub(super) fn watch(watch: &mut Watch<'_>, cube: &HypercubeSpec, traffic: &TrafficSpec) {
    machine(watch, cube);
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
