//! Links with lengths, against what follows from them alone: two nodes at two switches in a row.

use isthmus_kernel::{Cycles, Engine as _, RunUntil};
use isthmus_packet::routes::{Hop, Rule, Table};
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Delivery, Engine, Error, Handler, Interface, Kind, Message,
    Offers, Outputs, Rules, Switching,
};
use isthmus_topology::Wiring;
use std::sync::Arc;

/// Ticks of a packet on a link.
const PACKET: u64 = 20;
const HOP: Cycles = 3;
const ACKNOWLEDGE: [Cycles; 2] = [11, 7];

fn rules(switching: Switching, channels: u32) -> Rules {
    Rules {
        byte: 1,
        hop: HOP,
        acknowledge: ACKNOWLEDGE[0],
        acknowledge_hop: ACKNOWLEDGE[1],
        channels,
        switching,
        adaptive: Adaptive::default(),
        age: Age {
            from: AgeFrom::Injection,
            saturates: None,
            tie: AgeTie::RoundRobin,
        },
        late: None,
        payload: 18,
        overhead: 2,
        block: 1,
        interface: Interface {
            queues: 1,
            start: 0,
            packet: 1,
            packet_block: 0,
            receive: 0,
            slice: 1,
            request: 0,
            turnaround: 0,
        },
    }
}

fn cut(packets: u32, credit: Cycles) -> Switching {
    Switching::CutThrough {
        buffer: packets * PACKET as u32,
        credit,
        outputs: None,
    }
}

/// From node 0 by both switches to node 1, over links of these lengths; those back have none.
fn row(lengths: [Cycles; 3], classes: u16) -> Arc<Table> {
    let wiring = Wiring::new(2, 2, &[(0, 2), (2, 3), (3, 1)]);
    let mut all = vec![0; wiring.link_count() as usize];
    for (cable, length) in lengths.into_iter().enumerate() {
        all[wiring.forward(cable) as usize] = length;
    }
    let rule = Rule {
        classes,
        states: 1,
        start: |_, _| 0,
        next: |_, _, to| {
            Some(Hop {
                to,
                class: classes - 1,
                state: 0,
            })
        },
    };
    Arc::new(Table::new(wiring, all, rule).expect("a row of switches"))
}

#[derive(Default)]
struct Last(Option<Delivery<()>>);

impl Handler for Last {
    type Tag = ();

    fn delivered(&mut self, delivery: &Delivery<()>, _: &mut Offers<()>) {
        self.0 = Some(*delivery);
    }
}

fn message(bytes: u64) -> Message<()> {
    Message {
        from: 0,
        to: 1,
        bytes,
        kind: Kind::Write,
        queue: 0,
        tag: (),
    }
}

#[test]
fn a_lone_packet_takes_hops_lengths_and_its_ticks() {
    for switching in [cut(4, 5), Switching::Circuit { in_flight: 2 }] {
        for lengths in [
            [0, 0, 0],
            [13, 0, 0],
            [0, 130, 0],
            [0, 0, 1_000],
            [13, 130, 1_000],
        ] {
            let mut engine = Engine::new(row(lengths, 2), rules(switching, 2), 1).unwrap();
            engine.offer(0, message(18));
            let mut last = Last::default();
            engine.run_until(100_000, &mut last);
            let delivery = last.0.expect("it arrives");
            let along: Cycles = lengths.iter().sum();
            assert_eq!(delivery.arrived, along + 2 * HOP + PACKET);
            let back = ACKNOWLEDGE[0] + 2 * ACKNOWLEDGE[1] + along;
            assert_eq!(delivery.completed, delivery.arrived + back);
        }
    }
}

/// Packets of a long message that arrive, as a share of the link.
fn carried(lengths: [Cycles; 3], rules: Rules) -> f64 {
    let mut engine = Engine::new(row(lengths, 1), rules, 1).unwrap();
    engine.offer(0, message(1 << 40));
    engine.run_until(100_000, &mut Last::default());
    engine.count_from_now();
    let ticks = 1_000_000;
    engine.run_until(100_000 + ticks, &mut Last::default());
    (engine.counted().received[1] * PACKET) as f64 / ticks as f64
}

/// A lane with room for k packets: each place is taken from the start of a packet on the link to the
/// credit for it, which is one flight, the switch, its ticks out of the buffer, and a flight back.
#[test]
fn credits_carry_as_many_packets_as_there_is_room_for_in_a_round_trip() {
    for (length, credit) in [(0, 5), (100, 5), (100, 60), (1_000, 0)] {
        for packets in 1..=12 {
            let round = HOP + 2 * length + PACKET + credit;
            let limit = (f64::from(packets) * PACKET as f64 / round as f64).min(1.0);
            let switching = cut(packets, credit);
            for lengths in [[length, 0, 0], [0, length, 0]] {
                let share = carried(lengths, rules(switching, 1));
                assert!(
                    (share - limit).abs() < 0.002,
                    "{lengths:?}, {packets}: {share} of {limit}"
                );
            }
        }
    }
}

/// A circuit holds a lane from its start on the link to the acknowledgement over it.
#[test]
fn circuits_carry_as_many_packets_as_there_are_lanes_in_a_round_trip() {
    for lengths in [
        [0, 0, 0],
        [40, 0, 0],
        [0, 100, 0],
        [0, 0, 70],
        [40, 100, 70],
    ] {
        for channels in 1..=4 {
            let there = lengths.iter().sum::<Cycles>() + 2 * HOP + PACKET;
            let back = lengths.iter().sum::<Cycles>() + ACKNOWLEDGE[0] + 2 * ACKNOWLEDGE[1];
            let limit = (f64::from(channels) * PACKET as f64 / (there + back) as f64).min(1.0);
            let in_flight = Switching::Circuit {
                in_flight: channels,
            };
            let share = carried(lengths, rules(in_flight, channels));
            assert!(
                (share - limit).abs() < 0.002,
                "{lengths:?}, {channels}: {share} of {limit}"
            );
        }
    }
}

#[test]
fn what_the_engine_cannot_run_on_is_named() {
    let error = |classes, rules| Engine::<(), _>::new(row([0; 3], classes), rules, 1).unwrap_err();
    assert_eq!(
        error(4, rules(cut(2, 0), 5)).to_string(),
        "4 classes of 5 channels; a link may have 16 channels at most"
    );
    let outputs = Switching::CutThrough {
        buffer: 40,
        credit: 0,
        outputs: Some(Outputs {
            buffer: 40,
            speedup: 2,
        }),
    };
    assert!(Engine::<(), _>::new(row([0; 3], 1), rules(outputs, 1), 1).is_ok());
    assert!(matches!(
        error(2, rules(outputs, 1)),
        Error::SharedOutputs { classes: 2 }
    ));
    let far = Engine::<(), _>::new(row([0, 1 << 50, 0], 1), rules(cut(2, 0), 1), 1);
    assert_eq!(far.unwrap_err().to_string(), "a link that is too long: 3");
}
