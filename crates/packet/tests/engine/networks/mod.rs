//! The engine against the reference on random dragonflies and graphs.

mod dragonfly;
mod graph;

use crate::engine::drive::{Load, PARTS, both, load, rules};
use crate::engine::reference::Report;
use dragonfly::Groups;
use graph::{Finding, Graph};
use isthmus_kernel::Cycles;
use isthmus_packet::routes::{Dragonfly, Routing};
use isthmus_packet::{CHANNELS_MAX, Rules, Switching};
use isthmus_topology::{self as topology, Wiring};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// What has been seen in all cases.
#[derive(Default)]
struct Count {
    packets: Cell<u64>,
    circuits: Cell<u64>,
    longest: Cell<usize>,
    /// Packets that took channels of each class on some link.
    classes: Cell<u64>,
    around: Cell<u64>,
    stuck: Cell<u64>,
}

impl Count {
    fn add(cell: &Cell<u64>, more: u64) {
        cell.set(cell.get() + more);
    }

    /// Counts the reports of a case; `around`: whether a way of so many links goes by a third group.
    fn take(&self, reports: &[Report], rules: &Rules, left: u64) {
        let circuit = matches!(rules.switching, Switching::Circuit { .. });
        Self::add(&self.circuits, circuit.into());
        Self::add(&self.stuck, u64::from(left > 0));
        for one in reports {
            if let Report::Packet { path, .. } = one {
                Self::add(&self.packets, 1);
                self.longest.set(self.longest.get().max(path.len()));
                let high = path.iter().any(|lane| lane.channel >= rules.channels);
                Self::add(&self.classes, high.into());
                let higher = path.iter().any(|lane| lane.channel >= 2 * rules.channels);
                Self::add(&self.around, higher.into());
            }
        }
    }
}

/// Rules with as many channels as so many classes leave, and without buffers that they would share.
fn fitted(mut rules: Rules, classes: u32) -> Rules {
    rules.channels = rules.channels.min(CHANNELS_MAX / classes);
    if let (Switching::CutThrough { outputs, .. }, true) = (&mut rules.switching, classes > 1) {
        *outputs = None;
    }
    rules
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    })
}

fn dragonfly() -> impl Strategy<Value = (topology::Dragonfly, Routing, [Cycles; 2])> {
    let shape = (1u32..3, 1u32..4, 2u32..6, 1u32..4)
        .prop_filter("few nodes", |(nodes, routers, groups, _)| {
            nodes * routers * groups <= 24
        })
        .prop_map(|(nodes, routers, groups, links)| {
            topology::Dragonfly::new(nodes, routers, groups, links).unwrap()
        });
    let routings = vec![
        Routing::Minimal,
        Routing::Valiant,
        Routing::Ugal,
        Routing::Ugal,
    ];
    (shape, prop::sample::select(routings), [0u64..6, 0u64..40])
}

#[test]
fn engine_and_reference_report_the_same_on_dragonflies() {
    let cases = 400;
    let count = Count::default();
    let case = |((shape, routing, lengths), rules, load): (
        (topology::Dragonfly, _, [Cycles; 2]),
        Rules,
        Load,
    )| {
        let routes = Dragonfly::new(&shape, routing, lengths[0], lengths[1]);
        let network = Groups {
            wiring: shape.wiring(),
            shape,
            routing,
            lengths,
        };
        let rules = fitted(rules, 3);
        let (shown, _) = both(routes, &network, rules, &load)?;
        count.take(&shown.0, &rules, shown.1[PARTS as usize - 1][0]);
        Ok(())
    };
    runner(cases)
        .run(&(dragonfly(), rules(), load()), case)
        .unwrap();
    println!(
        "{cases} random dragonflies ({} of circuits): {} packets, {} of them by two groups or more, {} by \
         three, over {} links at most; {} were cut short with messages under way: no \
         difference, and in the end all delivered, none twice",
        count.circuits.get(),
        count.packets.get(),
        count.classes.get(),
        count.around.get(),
        count.longest.get(),
        count.stuck.get(),
    );
    assert!(count.packets.get() > 10_000 && count.circuits.get() > 50);
    assert!(count.classes.get() > 2_000 && count.around.get() > 500 && count.longest.get() == 7);
}

/// Switches of which each is joined to a lower one, other cables between them, nodes, and lengths.
fn graph() -> impl Strategy<Value = Graph> {
    (2u32..9).prop_flat_map(|switches| {
        let tree = prop::collection::vec(any::<prop::sample::Index>(), switches as usize - 1);
        let more = prop::collection::vec((0..switches, 1..switches), 0..8);
        let nodes = prop::collection::vec((0..switches, 1u32..3), 2..12);
        let finding = prop::sample::select(vec![Finding::Shortest, Finding::UpDown]);
        (
            tree,
            more,
            nodes,
            finding,
            prop::collection::vec(0u64..30, 64),
        )
            .prop_map(move |(tree, more, nodes, finding, lengths)| {
                let count = nodes.len() as u32;
                let mut cables = Vec::new();
                for (node, &(switch, parallel)) in (0..).zip(&nodes) {
                    cables.extend((0..parallel).map(|_| (node, count + switch)));
                }
                let lower = (1u32..).zip(&tree);
                cables.extend(lower.map(|(switch, of)| {
                    (count + switch, count + of.index(switch as usize) as u32)
                }));
                cables.extend(
                    more.iter()
                        .map(|&(a, step)| (count + a, count + (a + step) % switches)),
                );
                let wiring = Wiring::new(count, switches, &cables);
                // The two directions of a cable may differ.
                let lengths = (0..wiring.link_count() as usize).map(|link| lengths[link % 64]);
                Graph {
                    lengths: lengths.collect(),
                    classes: match finding {
                        Finding::Shortest => switches,
                        Finding::UpDown => 1,
                    },
                    wiring,
                    finding,
                }
            })
    })
}

#[test]
fn engine_and_reference_report_the_same_on_graphs() {
    let cases = 600;
    let count = Count::default();
    let outputs = Cell::new(0);
    let case = |(graph, rules, load): (Graph, Rules, Load)| {
        let rules = fitted(rules, graph.classes);
        let (shown, met) = both(graph.table().unwrap(), &graph, rules, &load)?;
        Count::add(&outputs, met.waited);
        count.take(&shown.0, &rules, shown.1[PARTS as usize - 1][0]);
        Ok(())
    };
    runner(cases)
        .run(&(graph(), rules(), load()), case)
        .unwrap();
    println!(
        "{cases} random graphs ({} of circuits): {} packets, {} of them in two classes of channels or \
         more, {} waited in output buffers, over {} links at most; {} were cut short with messages \
         under way: no difference, and in the end all delivered, none twice",
        count.circuits.get(),
        count.packets.get(),
        count.classes.get(),
        outputs.get(),
        count.longest.get(),
        count.stuck.get(),
    );
    assert!(count.packets.get() > 10_000 && count.circuits.get() > 50 && outputs.get() > 200);
    assert!(count.classes.get() > 2_000 && count.longest.get() >= 7);
}
