//! Fields of jobs and their servers that have no effect because of the values of other fields.

use super::Message;
use super::behind;
use isthmus_scenario::format::{Reason, Watch};
use isthmus_workload::jobs::spec::JobsTraffic;

/// Report to `watch` which scenario fields of jobs and I/O servers have no effect on a machine of `nodes` nodes.
pub(crate) fn watch(watch: &mut Watch<'_>, traffic: &JobsTraffic, nodes: u32) {
    for job in &traffic.jobs {
        let [think, times] =
            ["think", "think_times"].map(|field| format!("workload.jobs.{}.{field}", job.name));
        let causes = [think.as_str()];
        let pauses = Message::of(job).is_some_and(|message| message.think_ns > 0.0);
        watch.field(
            &times,
            (!pauses).then(|| Reason {
                problem: "it has no effect: the think time is 0".to_owned(),
                hint: format!("remove it, or set {think}"),
                causes: &causes,
            }),
        );
    }
    let causes = behind::causes(watch);
    let causes: Vec<&str> = causes.iter().map(String::as_str).collect();
    watch.field(
        "workload.servers.serve",
        (!behind::is_used(traffic, nodes)).then(|| Reason {
            problem: "it has no effect: no job reads from or writes to an I/O server".to_owned(),
            hint: "remove it, or add a job with traffic = \"io\" or \"checkpoint\"".to_owned(),
            causes: &causes,
        }),
    );
}
