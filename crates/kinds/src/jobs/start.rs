//! Check that memory suffices for the messages with which jobs start.

use super::message::packets;
use isthmus_scenario::format::{Problem, Settings};
use isthmus_units::Bytes;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;

/// Maximum number of messages, and of their parts, that may be in flight at once; memory limits it.
const IN_FLIGHT_MAX: u64 = 1 << 24;

/// Parts into which messages are split, such as transfer units, that are in flight at the same time.
pub(crate) struct Parts {
    /// Key of the scenario field that limits the parts of a message in flight.
    pub field: &'static str,
    /// Word for the parts in an error message, such as `worms`.
    pub name: &'static str,
    /// Maximum size of one part of a message, such as a packet.
    pub unit: Bytes,
    /// Maximum number of parts of a message in flight.
    pub most: u32,
    /// Hint of the error message: how to have fewer parts in flight.
    pub hint: &'static str,
}

/// Check that there is memory for the first messages of all jobs, which start at once. Each message has as many
/// parts in flight as `parts` allows. The caller has checked that the jobs fit on the `nodes` nodes.
pub(crate) fn check_start(
    settings: &Settings,
    traffic: &JobsTraffic,
    nodes: u32,
    parts: Option<&Parts>,
) -> Result<(), Problem> {
    let Ok(layout) = Layout::new(traffic, nodes) else {
        return Ok(());
    };
    let (mut messages, mut pieces) = (0_u64, 0.0);
    for (number, job) in traffic.jobs.iter().enumerate() {
        if !job.active {
            continue;
        }
        let start = layout.start(number, job);
        messages = messages.saturating_add(start.messages);
        if messages > IN_FLIGHT_MAX {
            return Err(settings.problem(
                &format!("workload.jobs.{}.outstanding", job.name),
                format!("{messages} messages would be under way at once; there is room for 2^24"),
                "let fewer be under way, or give jobs fewer nodes",
            ));
        }
        if let Some(parts) = parts {
            let each = packets(start.sizes, parts.unit.get() as f64).ceil();
            pieces += start.messages as f64 * each.min(f64::from(parts.most));
        }
    }
    match parts {
        Some(parts) if pieces > IN_FLIGHT_MAX as f64 => Err(settings.problem(
            parts.field,
            format!(
                "some {pieces:.0} {} would be under way at once; there is room for 2^24",
                parts.name
            ),
            parts.hint,
        )),
        _ => Ok(()),
    }
}
