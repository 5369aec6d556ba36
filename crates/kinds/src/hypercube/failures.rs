//! Failure states of a hypercube: its single failures and random pairs of them.

use crate::failures::{self, Single, StateAfterFailures};
use isthmus_machine::hypercube::Machine;
use isthmus_machine::hypercube::spec::{FaultSpec, HypercubeSpec};
use isthmus_scenario::format::{self, Asked, Failures, Part, SINGLE, Which};

/// Key of the field that lists failed PEs.
pub(super) const PES: &str = "machine.faults.pes";
/// Key of the field that lists failed I/O nodes.
const IO_NODES: &str = "machine.faults.io_nodes";
/// Key of the field that lists failed links between PEs.
const LINKS: &str = "machine.faults.links";
/// Key of the field that lists failed links of the I/O network.
const IO_LINKS: &str = "machine.faults.io_links";

/// Fields that list failed parts in a scenario file, and that a sweep can vary.
pub(super) const FAULTS: format::Faults = format::Faults {
    words: format::Choice(&[SINGLE, "pes", "io-nodes", "links", "io-links"]),
    with: &[],
};

/// Return the states of the machine after further failures, in addition to its given faults; `None` if there are more
/// than `asked` permits. PEs with their routers, links between PEs, I/O nodes and links of the I/O network can fail.
/// The router of a failed I/O node continues to work (section 3.2 of the hypercube paper).
pub(super) fn of_cube(spec: &HypercubeSpec, asked: &Asked) -> Option<Failures> {
    let wanted = |word: &str| [SINGLE, word].contains(&asked.of);
    let given = &spec.faults;
    // Refuse machines with too many parts before the lists of parts are built.
    let (pes, dimension) = (1u64 << spec.dimension, u64::from(spec.dimension));
    let failed = (given.pes.len() + given.links.len()) as u64 * (dimension + 1);
    let parts = match () {
        () if wanted("links") => pes * dimension / 2,
        () if wanted("pes") => pes,
        () => 0,
    };
    if parts.saturating_sub(failed) > asked.most as u64 {
        return None;
    }
    let Ok(machine) = Machine::new(spec) else {
        // List no failures if the machine cannot be built. The error is reported when the points are built.
        let left = |_: &[Part]| StateAfterFailures {
            live: 0,
            runs: true,
        };
        return failures::failures(&[], asked, left);
    };
    let (cube, io_cube) = (machine.cube(), machine.io_cube());
    let is_listed = |list: &[(u32, u32)], a: u32, b: u32| {
        list.iter().any(|&link| link == (a, b) || link == (b, a))
    };
    let mut single = Vec::new();
    if wanted("pes") {
        let alive = cube.nodes().filter(|&pe| machine.is_alive(pe));
        single.extend(alive.map(|pe| Single::new(PES, Which::Node(pe), "PE")));
    }
    if wanted("io-nodes") {
        let works = io_cube
            .nodes()
            .filter(|&node| machine.serving_io_node(node) == node);
        single.extend(works.map(|node| Single::new(IO_NODES, Which::Node(node), "I/O node")));
    }
    if wanted("links") {
        for from in cube.nodes().filter(|&pe| machine.is_alive(pe)) {
            let up = cube
                .neighbors(from)
                .filter(|&to| to > from && machine.is_alive(to));
            let up = up.filter(|&to| !is_listed(&given.links, from, to));
            single.extend(up.map(|to| Single::new(LINKS, Which::Link(from, to), "link")));
        }
    }
    if wanted("io-links") && machine.has_io_network() {
        for from in io_cube.nodes() {
            let up = io_cube.neighbors(from).filter(|&to| to > from);
            let up = up.filter(|&to| !is_listed(&given.io_links, from, to));
            single.extend(up.map(|to| Single::new(IO_LINKS, Which::Link(from, to), "I/O link")));
        }
    }
    failures::failures(&single, asked, |parts| {
        let working = machine.working_pes_after(&with_failed(given, parts));
        StateAfterFailures {
            live: working.as_ref().map_or(0, |&pes| pes),
            runs: working.is_ok(),
        }
    })
}

/// Return the faults `given` in a scenario, with `parts` added as failed parts.
fn with_failed(given: &FaultSpec, parts: &[Part]) -> FaultSpec {
    let mut faults = given.clone();
    for part in parts {
        match (part.field, part.which) {
            (PES, Which::Node(pe)) => faults.pes.push(pe),
            (_, Which::Node(node)) => faults.io_nodes.push(node),
            (LINKS, Which::Link(a, b)) => faults.links.push((a, b)),
            (_, Which::Link(a, b)) => faults.io_links.push((a, b)),
        }
    }
    faults
}
