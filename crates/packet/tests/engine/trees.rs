//! The engine against the tick-by-tick reference: every packet, with its times and its way, and
//! all other reports, in order, on random trees, rules and loads.

use crate::engine::drive::{PARTS, both, by_engine, load, rules};
use crate::engine::reference::{Network, Report};
use isthmus_packet::Switching;
use isthmus_packet::routes::{End, FatTree, Header, Routes, Run};
use isthmus_topology::trees::{Ascent, Shape, Tree};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

fn shape() -> impl Strategy<Value = Shape> {
    let k_ary = (2u32..5, 1u32..4)
        .prop_filter("few nodes", |(k, n)| k.pow(*n) <= 27)
        .prop_map(|(arity, levels)| Shape::KAry { arity, levels });
    let level = || (2u32..5, 1u32..4, prop_oneof![3 => Just(1u32), 1 => Just(2)]);
    let any = (prop::collection::vec(level(), 1..4), any::<bool>()).prop_map(|(levels, one)| {
        let mut up: Vec<u32> = levels.iter().map(|level| level.1).collect();
        let mut parallel: Vec<u32> = levels.iter().map(|level| level.2).collect();
        if one {
            (up[0], parallel[0]) = (1, 1);
        }
        Shape::Generalised {
            down: levels.iter().map(|level| level.0).collect(),
            up,
            parallel,
        }
    });
    let few = |shape: &Shape| shape.check().is_ok() && shape.node_count().unwrap() <= 32;
    prop_oneof![1 => k_ary, 2 => any.prop_filter("few nodes", few)]
}

fn ascent() -> impl Strategy<Value = Ascent> {
    prop::sample::select(vec![
        Ascent::Adaptive,
        Ascent::Adaptive,
        Ascent::Destination,
        Ascent::Source,
        Ascent::Random,
    ])
}

/// A tree that does not say that it is plain. Its choices by lot then have lots of their own.
#[derive(Debug)]
struct General(FatTree);

impl Routes for General {
    fn node_count(&self) -> u32 {
        self.0.node_count()
    }

    fn link_count(&self) -> u32 {
        self.0.link_count()
    }

    fn longest_route(&self) -> u32 {
        self.0.longest_route()
    }

    fn end(&self, link: u32) -> End {
        self.0.end(link)
    }

    fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
        self.0.runs()
    }

    fn node_links(&self, node: u32) -> Run {
        self.0.node_links(node)
    }

    fn initial_state(&self, from: u32, to: u32) -> u16 {
        self.0.initial_state(from, to)
    }

    fn first_links(&self, header: &mut Header, lot: impl FnOnce() -> u64) -> Run {
        self.0.first_links(header, lot)
    }

    fn next_links(&self, header: &mut Header, at: End, lot: impl FnOnce() -> u64) -> Run {
        self.0.next_links(header, at, lot)
    }
}

#[test]
fn engine_and_reference_report_the_same() {
    let cases = 250;
    let [packets, delivered, circuits, open, several, held] = [const { Cell::new(0u64) }; 6];
    let [outputs, waited, sooner, ahead, reminded] = [const { Cell::new(0u64) }; 5];
    let [age_ties, link_ties] = [const { [const { Cell::new(0u64) }; 3] }; 2];
    let [behind, overtaken] = [const { Cell::new(0u64) }; 2];
    let add = |cell: &Cell<u64>, more: u64| cell.set(cell.get() + more);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(
            &(shape(), ascent(), rules(), load()),
            |(shape, ascent, rules, load)| {
                let tree = Tree::new(&shape).unwrap();
                let network = (tree.clone(), ascent);
                let routes = FatTree::new(&tree, ascent);
                // What is left out for plain networks leaves the rest as it is.
                if ascent != Ascent::Random {
                    let general = by_engine(General(routes.clone()), rules, &load);
                    prop_assert_eq!(general, by_engine(routes.clone(), rules, &load));
                }
                let (fast, cases) = both(routes, &network, rules, &load)?;
                add(&held, fast.2.held.iter().sum());
                let count = |of: fn(&Report) -> bool| {
                    fast.0.iter().filter(|report| of(report)).count() as u64
                };
                add(
                    &packets,
                    count(|report| matches!(report, Report::Packet { .. })),
                );
                add(
                    &delivered,
                    count(|report| matches!(report, Report::Delivered { .. })),
                );
                let circuit = matches!(rules.switching, Switching::Circuit { .. });
                add(&circuits, u64::from(circuit));
                let buffered = matches!(
                    rules.switching,
                    Switching::CutThrough {
                        outputs: Some(_),
                        ..
                    }
                );
                add(&outputs, u64::from(buffered));
                add(&waited, cases.waited);
                add(&sooner, cases.sooner);
                add(&ahead, cases.ahead);
                add(&behind, cases.behind);
                add(&overtaken, cases.overtaken);
                for rule in 0..3 {
                    add(&age_ties[rule], cases.age_ties[rule]);
                    add(&link_ties[rule], cases.link_ties[rule].get());
                }
                add(
                    &reminded,
                    count(|report| matches!(report, Report::Reminded { .. })),
                );
                add(&open, u64::from(fast.1[PARTS as usize - 1][0] > 0));
                let links = network.of_node(0).len();
                add(&several, u64::from(links > 1));
                Ok(())
            },
        )
        .unwrap();
    println!(
        "{cases} random trees, rules and loads ({} of circuits, {} with several links at each \
         node): {} packets, {} messages delivered, {} runs ended with messages under way: no \
         difference",
        circuits.get(),
        several.get(),
        packets.get(),
        delivered.get(),
        open.get(),
    );
    println!(
        "{} of them with output buffers: {} packets waited there, {} left their input sooner than over a \
         link, {} crossed ahead of their tails; {} reminders; {} reads overtook others at their server",
        outputs.get(),
        waited.get(),
        sooner.get(),
        ahead.get(),
        reminded.get(),
        overtaken.get(),
    );
    let counts = |of: &[Cell<u64>; 3]| of.each_ref().map(Cell::get);
    println!(
        "Among packets equally old {:?} went around, by lot, and by number; of links loaded alike {:?} were \
         taken by lot, idle for longest, and by number; {} packets waited behind others while their age counted",
        counts(&age_ties),
        counts(&link_ties),
        behind.get(),
    );
    assert!(counts(&age_ties).iter().all(|&ties| ties > 50));
    assert!(counts(&link_ties).iter().all(|&ties| ties > 200) && behind.get() > 200);
    assert!(outputs.get() > 40 && waited.get() > 1_000 && sooner.get() > 1_000);
    assert!(ahead.get() > 1_000 && reminded.get() > 500 && overtaken.get() > 200);
    assert!(packets.get() > 10_000 && circuits.get() > 100 && held.get() > 100_000);
}
