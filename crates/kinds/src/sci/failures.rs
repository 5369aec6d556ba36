//! Failure states of an SCI fabric: its single failures and random pairs of them.

use crate::failures::{self, Single, StateAfterFailures};
use isthmus_machine::sci::spec::SciSpec;
use isthmus_scenario::format::{self, Asked, Failures, Part, SINGLE, Which};
use isthmus_topology::rings::{Cause, Fabric, Faults};

/// Key of the field that lists failed nodes.
pub(super) const NODES: &str = "machine.faults.nodes";
/// Key of the field that lists failed links.
pub(super) const LINKS: &str = "machine.faults.links";
/// Key and TOML value of the setting that allows failures to disconnect nodes, so that a study can report this effect.
pub(super) const CUT_OFF: (&str, &str) = ("machine.faults.cut_off", "\"leave-out\"");

/// The words by which a sweep selects failures of an SCI fabric, and the fields that such a sweep also sets.
pub(super) const FAULTS: format::Faults = format::Faults {
    words: format::Choice(&[SINGLE, "links", "nodes"]),
    with: &[CUT_OFF],
};

/// Minimum number of connected nodes for which traffic is possible.
const LIVE_MIN: u32 = 2;

/// Build the fabric of rings, with its faults, from a valid description.
pub(super) fn fabric(spec: &SciSpec) -> Fabric {
    let fabric = Fabric::new(&spec.shape).and_then(|fabric| fabric.with_faults(&spec.faults));
    fabric.unwrap_or_else(|error| unreachable!("a fabric that was checked: {error}"))
}

/// Return the states of the fabric with one or two failures in addition to its given faults; `None` if there are more
/// than `asked` allows. The failure of any link of a ring has the same effect (section 4.3).
pub(super) fn of_fabric(spec: &SciSpec, asked: &Asked) -> Option<Failures> {
    let fabric = fabric(spec);
    let single = fabric.single_failures().into_iter().map(|failure| {
        let one = match failure.cause {
            Cause::Link { from, to } => Single::new(LINKS, Which::Link(from, to), "link"),
            Cause::Node(node) => Single::new(NODES, Which::Node(node), "node"),
        };
        Single {
            effect: failure.effect(),
            weight: failure.components,
            ..one
        }
    });
    let wanted = |one: &Single| match asked.of {
        "links" => one.part.field == LINKS,
        "nodes" => one.part.field == NODES,
        _ => true,
    };
    let single: Vec<Single> = single.filter(wanted).collect();
    failures::failures(&single, asked, |parts| {
        let left = fabric.with_faults(&faults(parts));
        let live = left.map_or(0, |left| left.live_nodes().len() as u32);
        StateAfterFailures {
            live,
            runs: live >= LIVE_MIN,
        }
    })
}

/// Return these failed parts as the list of failed nodes and links in a machine's description.
fn faults(parts: &[Part]) -> Faults {
    let mut faults = Faults::default();
    for part in parts {
        match part.which {
            Which::Node(node) => faults.nodes.push(node),
            Which::Link(from, to) => faults.links.push((from, to)),
        }
    }
    faults
}
