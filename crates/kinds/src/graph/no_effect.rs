//! Fields of a network of switches that have no effect because of the values of other fields.

use isthmus_machine::graph::spec::Shape;
use isthmus_scenario::format::{Reason, Watch};

/// Report to `watch` which scenario fields of a network of this `shape` have no effect.
pub(super) fn watch(watch: &mut Watch<'_>, shape: &Shape) {
    let delay = "machine.delay";
    let &Shape::Dragonfly {
        routers, groups, ..
    } = shape
    else {
        return watch.field(delay, None);
    };
    let mut field = |key, count: u32, least: u32, cause: &'static str, none: &str| {
        let reason = (count < least).then(|| Reason {
            problem: format!("it has no effect with {cause} = {count}: {none}"),
            hint: format!("remove it, or set {cause} to {least} or more"),
            causes: std::slice::from_ref(&cause),
        });
        watch.field(key, reason);
    };
    let (cause, none) = ("machine.groups", "there is no third group to go by");
    field("machine.group_routing", groups, 3, cause, none);
    for key in ["machine.global_links", "machine.global_delay"] {
        field(key, groups, 2, cause, "no link leads to another group");
    }
    let (cause, none) = ("machine.routers", "no link lies within a group");
    field(delay, routers, 2, cause, none);
}
