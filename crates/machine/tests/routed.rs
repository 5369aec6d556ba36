//! Networks with a rule of their own: routes that cannot wait for one another in a circle, or an error that
//! names it.

use isthmus_machine::fattree::spec::FatTreeSpec;
use isthmus_machine::packets::routes::{Hop, Rule, Table};
use isthmus_machine::packets::spec::{NetworkSpec, Switching};
use isthmus_machine::packets::{Network, Routed, RoutedError, follow};
use isthmus_topology::Wiring;
use isthmus_units::Time;

/// A ring of switches with a node at each.
fn wiring(switches: u32) -> Wiring {
    let own = (0..switches).map(|node| (node, switches + node));
    let next = (0..switches).map(|at| (switches + at, switches + (at + 1) % switches));
    let cables: Vec<(u32, u32)> = own.chain(next).collect();
    Wiring::new(switches, switches, &cables)
}

// --8<-- [start:ring]
/// Always to the next switch. Behind switch 0 packets are in class `behind`.
fn one_way(switches: u32, classes: u16, behind: u16) -> Table {
    let rule = Rule {
        classes,
        states: 2,
        start: |_, _| 0,
        next: |state, at, to| {
            let next = (at + 1) % switches;
            let crossed = u16::from(state == 1 || next == 0);
            (at != to).then_some(Hop {
                to: next,
                class: if state == 1 { behind } else { 0 },
                state: crossed,
            })
        },
    };
    let wiring = wiring(switches);
    let lengths = vec![0; wiring.link_count() as usize];
    Table::new(wiring, lengths, rule).expect("every way ends")
}
// --8<-- [end:ring]

fn network(virtual_channels: u32) -> Network {
    let spec = NetworkSpec {
        virtual_channels,
        switching: Switching::CutThrough {
            buffer: 16,
            output_buffer: 0,
            speedup: 1,
            credit: Time::from_ns(35),
        },
        ..FatTreeSpec::qsnet(1).network
    };
    Network::new(&spec).expect("these rules agree")
}

#[test]
fn one_class_around_a_ring_is_a_circle_and_its_switches_are_named() {
    let error = Routed::new(wiring(5), one_way(5, 1, 0), network(1)).unwrap_err();
    let RoutedError::Circle { switches } = &error else {
        panic!("{error}")
    };
    assert_eq!(switches.len(), 5);
    for pair in switches.windows(2) {
        assert_eq!(pair[1], (pair[0] + 1) % 5);
    }
    assert!(
        error
            .to_string()
            .starts_with("packets could wait for one another in a circle, at switches "),
        "{error}"
    );
}

#[test]
fn a_second_class_behind_one_switch_opens_it() {
    for switches in [2, 3, 5, 16] {
        let routed = Routed::new(wiring(switches), one_way(switches, 2, 1), network(2));
        let routed = routed.expect("no circle");
        for from in 0..switches {
            for to in (0..switches).filter(|&to| to != from) {
                let around = (to + switches - from) % switches;
                let way = follow(&**routed.routes(), from, to);
                assert_eq!(way.len() as u32, around + 2, "{from} to {to} of {switches}");
            }
        }
    }
}

#[test]
fn it_takes_as_many_channels_as_classes() {
    let error = Routed::new(wiring(5), one_way(5, 2, 1), network(1)).unwrap_err();
    let few = RoutedError::Classes {
        channels: 1,
        classes: 2,
    };
    assert_eq!(error, few);
}
