//! Fields of a packet network that have no effect because of the values of other fields.

use crate::jobs::behind;
use isthmus_machine::packets::spec::{NetworkSpec, Switching};
use isthmus_scenario::format::{Reason, Watch};
use isthmus_workload::jobs::spec::{JobsTraffic, Traffic};

/// Key of the field that sets the length of requests.
pub(super) const REQUEST: &str = "machine.nic.request";

/// Return whether any active job reads data from I/O servers.
fn reads(traffic: &JobsTraffic) -> bool {
    let mut jobs = traffic.jobs.iter();
    jobs.any(|job| job.active && matches!(&job.traffic, Traffic::Io(io) if io.read_ratio > 0.0))
}

/// Return whether any packets have the length of requests: those with which nodes request reads, or those with which
/// servers answer writes to devices.
pub(super) fn requests(traffic: &JobsTraffic, nodes: u32) -> bool {
    reads(traffic) || (traffic.storage.is_some() && behind::is_used(traffic, nodes))
}

/// Report to `watch`, which checks the fields of a scenario file, those that have no effect on a network of `nodes`
/// nodes.
pub fn watch(watch: &mut Watch<'_>, network: &NetworkSpec, traffic: &JobsTraffic, nodes: u32) {
    if let Switching::Circuit { .. } = network.switching {
        let (packets, channels) = (network.nic.packets_in_flight, network.virtual_channels);
        let (circuits, channels_are) = match channels {
            1 => ("is", "1 virtual channel".to_owned()),
            _ => ("are", format!("{channels} virtual channels")),
        };
        watch.field(
            "machine.nic.packets_in_flight",
            (packets > channels).then(|| Reason {
                problem: format!(
                    "{packets} packets cannot be in flight: each holds a virtual channel of the \
                     node's link, and there {circuits} {channels_are}"
                ),
                hint: format!("give at most {channels}, or more machine.virtual_channels"),
                causes: &["machine.virtual_channels"],
            }),
        );
    }
    if let Switching::CutThrough {
        output_buffer: 0, ..
    } = network.switching
    {
        watch.field(
            "machine.speedup",
            Some(Reason {
                problem:
                    "it has no effect with machine.output_buffer = 0: packets cross onto links \
                          as fast as these are"
                        .to_owned(),
                hint: "remove it, or set machine.output_buffer to 1 or more".to_owned(),
                causes: &["machine.output_buffer"],
            }),
        );
    } else {
        watch.field("machine.speedup", None);
    }
    let causes = behind::causes(watch);
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    for (key, used) in [
        (REQUEST, requests(traffic, nodes)),
        ("machine.nic.read_turnaround", reads(traffic)),
    ] {
        watch.field(
            key,
            (!used).then(|| Reason {
                problem: "it has no effect: no job reads".to_owned(),
                hint: "remove it, or set read_ratio above 0 in a job with traffic = \"io\" or \
                       \"hot-spot\""
                    .to_owned(),
                causes: &causes,
            }),
        );
    }
    behind::watch(watch, traffic, nodes);
    crate::jobs::watch(watch, traffic, nodes);
}
