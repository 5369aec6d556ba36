//! Accepted and refused offers, timers, and error messages.

use isthmus_flow::{BYTES_MAX, Delivered, Engine, Error, Handler, Rate, Transfer};
use isthmus_kernel::{Cycles, Engine as _, Ran, RunUntil};

fn rate(bytes: u64, ticks: u64) -> Rate {
    Rate::new(bytes, ticks).unwrap()
}

fn over(path: &[u32]) -> Transfer<'_, u32> {
    Transfer {
        bytes: 100,
        path,
        latency: 0,
        rate_max: None,
        reserved: None,
        tag: 0,
    }
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Handler for Lines {
    type Tag = u32;

    fn timer(&mut self, engine: &mut Engine<u32>, timer: u32) {
        self.0.push(format!("{}: timer {timer}", engine.now()));
        if timer == 1 {
            engine.offer(
                engine.now(),
                Transfer {
                    tag: 9,
                    ..over(&[0])
                },
            );
            engine.schedule(engine.now(), 3);
        }
    }

    fn generated(&mut self, engine: &mut Engine<u32>, number: u64, tag: u32) {
        self.0
            .push(format!("{}: {number} begins, tag {tag}", engine.now()));
    }

    fn delivered(&mut self, engine: &mut Engine<u32>, delivered: &Delivered<u32>) {
        let Delivered { number, tag, .. } = delivered;
        self.0
            .push(format!("{}: {number} ends, tag {tag}", engine.now()));
    }
}

/// Rule 7, in its order.
#[test]
fn events_of_a_tick_keep_their_order() {
    let mut engine = Engine::new(vec![rate(10, 1)]).unwrap();
    engine.offer(
        10,
        Transfer {
            tag: 5,
            ..over(&[0])
        },
    );
    engine.schedule(10, 1);
    engine.schedule(10, 2);
    engine.offer(
        0,
        Transfer {
            tag: 4,
            ..over(&[0])
        },
    );
    let nothing = Transfer {
        bytes: 0,
        tag: 6,
        ..over(&[0])
    };
    engine.offer(10, nothing);
    let mut lines = Lines::default();
    assert_eq!(engine.run_until(11, &mut lines), Ran::Going);
    let expected = [
        "0: 0 begins, tag 4",
        "10: 0 ends, tag 4",
        "10: timer 1",
        "10: timer 2",
        "10: timer 3",
        "10: 1 begins, tag 5",
        "10: 2 begins, tag 6",
        "10: 2 ends, tag 6",
        "10: 3 begins, tag 9",
    ];
    assert_eq!(lines.0, expected);
    assert_eq!(engine.run_until(Cycles::MAX, &mut lines), Ran::Idle);
    assert_eq!(
        lines.0[expected.len()..],
        ["30: 1 ends, tag 5", "30: 3 ends, tag 9"]
    );
}

#[test]
fn invalid_offers_are_refused_with_the_permitted_values() {
    let mut engine = Engine::new(vec![rate(40, 1), rate(2, 1)]).unwrap();
    engine.run_until(7, &mut Lines::default());
    let half = Transfer {
        reserved: Some(rate(25, 1)),
        ..over(&[0])
    };
    engine.offer(50, half);
    let long: Vec<u32> = (0..30).chain([4]).collect();
    let many = Engine::new(vec![rate(1, 1); 40]).unwrap();
    for (engine, time, transfer, message) in [
        (
            &engine,
            6,
            over(&[]),
            "a transfer was offered for tick 6; it is 7 already",
        ),
        (
            &engine,
            7,
            over(&[0, 2]),
            "a path names link 2; the links are 0 to 1",
        ),
        (
            &engine,
            7,
            over(&[1, 0, 1]),
            "a path crosses link 1 twice; once is all it may",
        ),
        (
            &many,
            7,
            over(&long),
            "a path crosses link 4 twice; once is all it may",
        ),
        (
            &engine,
            7,
            Transfer {
                bytes: BYTES_MAX + 1,
                ..over(&[0])
            },
            "a transfer has 549755813888 bytes; it may have 549755813887: cut it in parts",
        ),
        (
            &engine,
            7,
            Transfer {
                rate_max: Some(rate(3, 2)),
                reserved: Some(rate(2, 1)),
                ..over(&[0])
            },
            "a transfer is bound to 1.5 bytes per tick, with 2 bytes per tick reserved for it; the \
             bound must be no less",
        ),
        (
            &engine,
            7,
            half,
            "25 bytes per tick cannot be reserved on link 0: 15 of it are left",
        ),
    ] {
        assert_eq!(
            engine.check(time, &transfer).unwrap_err().to_string(),
            message
        );
    }
    let long = vec![0; usize::from(u16::MAX) + 1];
    let error = engine.check(7, &over(&long)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a path has 65536 links; it may have 65535"
    );
    for (bytes, ticks) in [(0, 1), (1, 0), (1, 1 << 25), (1 << 38, 1)] {
        assert_eq!(Rate::new(bytes, ticks), Err(Error::NoRate { bytes, ticks }));
    }
}

/// A reservation is booked from the offer to the end. A refusal books nothing, not even on the
/// links before the full one.
#[test]
fn reservations_are_booked_from_offer_to_end() {
    let mut engine = Engine::new(vec![rate(40, 1), rate(30, 1)]).unwrap();
    let wish = |path, reserved| Transfer {
        reserved: Some(rate(reserved, 1)),
        ..over(path)
    };
    engine.offer(10, wish(&[1], 20));
    assert!(engine.try_offer(90, wish(&[0, 1], 15)).is_err());
    assert_eq!(
        [0, 1, 2].map(|link| engine.unbooked(link)),
        [Some(rate(40, 1)), Some(rate(10, 1)), None]
    );
    engine.offer(90, wish(&[0, 1], 10));
    assert_eq!(engine.unbooked(1), None);
    // The first has the whole link alone: 20 and the rest of it. It ends at 14, the second at 94.
    let mut lines = Lines::default();
    engine.run_until(20, &mut lines);
    assert_eq!(lines.0.last().unwrap(), "14: 0 ends, tag 0");
    assert_eq!(engine.unbooked(1), Some(rate(20, 1)));
    engine.run_until(Cycles::MAX, &mut lines);
    assert_eq!(lines.0.last().unwrap(), "94: 1 ends, tag 0");
    assert_eq!(engine.unbooked(1), Some(rate(30, 1)));
}

/// More transfers than steps: all wait at rate 0, and the engine reports a stall.
#[test]
fn transfers_without_a_step_stall() {
    let mut engine = Engine::new(vec![rate(2, 1 << 24)]).unwrap();
    for _ in 0..3 {
        engine.offer(0, over(&[0]));
    }
    let mut lines = Lines::default();
    assert_eq!(engine.run_until(1_000, &mut lines), Ran::Stalled);
    assert_eq!((engine.now(), engine.under_way()), (1_000, 3));
    assert!(engine.moving().iter().all(|moving| moving.rate.is_none()));
}
