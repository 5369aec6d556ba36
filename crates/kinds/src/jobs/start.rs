//! Whether a machine has room for what jobs begin with.

use super::message::packets;
use isthmus_scenario::format::{Problem, Settings};
use isthmus_units::Bytes;
use isthmus_workload::jobs::Layout;
use isthmus_workload::jobs::spec::JobsTraffic;

/// Messages, and parts of them, that may be known at once: what fits into memory.
const ROOM: u64 = 1 << 24;

/// The parts of messages that are under way one beside the other.
pub(crate) struct Parts {
    /// The field that says how many of a message may be.
    pub field: &'static str,
    /// What they are called.
    pub name: &'static str,
    /// Data of one.
    pub unit: Bytes,
    /// How many of a message may be under way.
    pub most: u32,
    /// How there would be fewer of them.
    pub hint: &'static str,
}

/// All first messages begin at once, with as many parts as may be under way, where they have any. The jobs
/// have been laid out on so many nodes before.
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
        if messages > ROOM {
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
        Some(parts) if pieces > ROOM as f64 => Err(settings.problem(
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
