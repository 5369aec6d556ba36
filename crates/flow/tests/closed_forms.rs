//! Closed forms: rates and times that follow from the rules by hand.

use isthmus_flow::{Delivered, Engine, Handler, Rate, Transfer};
use isthmus_kernel::{Cycles, Engine as _, Ran, RunUntil};

/// The end of each transfer, by tag.
#[derive(Default)]
struct Ends(Vec<(usize, Cycles)>);

impl Handler for Ends {
    type Tag = usize;

    fn delivered(&mut self, _: &mut Engine<usize>, delivered: &Delivered<usize>) {
        self.0.push((delivered.tag, delivered.arrived));
    }
}

fn rate(bytes: u64, ticks: u64) -> Rate {
    Rate::new(bytes, ticks).unwrap()
}

fn over(path: &[u32], bytes: u64, tag: usize) -> Transfer<'_, usize> {
    Transfer {
        bytes,
        path,
        latency: 0,
        rate_max: None,
        reserved: None,
        tag,
    }
}

fn rates(engine: &Engine<usize>) -> Vec<u64> {
    let moving = engine.moving();
    let rates = moving
        .iter()
        .map(|moving| moving.rate.map_or(0, Rate::steps));
    rates.collect()
}

fn run(engine: &mut Engine<usize>) -> Vec<(usize, Cycles)> {
    let mut ends = Ends::default();
    assert_eq!(engine.run_until(Cycles::MAX, &mut ends), Ran::Idle);
    ends.0
}

/// n transfers of b bytes on a link of c bytes per tick: all end at n b / c, rounded up. Losing one
/// step of each share delays that by less than n^2 b / (2^24 c^2) ticks.
#[test]
fn equal_transfers_on_one_link_end_together() {
    for n in [1u64, 2, 3, 7, 64, 1_000] {
        let (bytes, capacity) = (10_000, 40);
        let mut engine = Engine::new(vec![rate(capacity, 1)]).unwrap();
        for tag in 0..n as usize {
            engine.offer(5, over(&[0], bytes, tag));
        }
        let ends = run(&mut engine);
        let exact = (n * bytes).div_ceil(capacity);
        let lost = (n * n * bytes) as f64 / ((1u64 << 24) * capacity * capacity) as f64;
        assert_eq!(ends.len(), n as usize);
        for (place, (tag, end)) in ends.into_iter().enumerate() {
            assert_eq!(tag, place, "in order of their numbers");
            let late = end - 5 - exact;
            assert!(
                (late as f64) < 1.0 + lost,
                "{n} transfers: {late} ticks late"
            );
        }
    }
}

/// Parking lot: one transfer over all n links, one on each. With capacity c all have c / 2.
#[test]
fn a_long_transfer_has_half_of_each_link() {
    let n = 9;
    let mut engine = Engine::new(vec![rate(6, 1); n]).unwrap();
    let all: Vec<u32> = (0..n as u32).collect();
    engine.offer(0, over(&all, 3_000, 0));
    for link in 0..n {
        engine.offer(0, over(&[link as u32], 3_000, 1 + link));
    }
    engine.run_until(1, &mut Ends::default());
    assert_eq!(rates(&engine), vec![3 << 24; n + 1]);
    assert!(run(&mut engine).iter().all(|(_, end)| *end == 1_000));
}

/// The example of the textbook: a, b and c cross a link of 1, c and d one of 2. a, b and c get 1/3,
/// and d gets the rest of its link, 5/3.
#[test]
fn a_transfer_limited_elsewhere_leaves_the_rest() {
    let mut engine = Engine::new(vec![rate(1, 1), rate(2, 1)]).unwrap();
    let paths: [&[u32]; 4] = [&[0], &[0], &[0, 1], &[1]];
    for (tag, path) in paths.into_iter().enumerate() {
        engine.offer(0, over(path, 1_000, tag));
    }
    engine.run_until(1, &mut Ends::default());
    let third = (1 << 24) / 3;
    assert_eq!(rates(&engine), [third, third, third, (2 << 24) - third]);
}

/// A step left over by rounding stays unused, even where another link at the same level limits one
/// of the transfers: links of 3 and 11 steps, three transfers, one of them on both.
#[test]
fn links_at_one_level_settle_together() {
    let mut engine = Engine::new(vec![rate(3, 1 << 24), rate(11, 1 << 24)]).unwrap();
    let paths: [&[u32]; 3] = [&[0, 1], &[1], &[1]];
    for (tag, path) in paths.into_iter().enumerate() {
        engine.offer(0, over(path, 1, tag));
    }
    engine.run_until(1, &mut Ends::default());
    assert_eq!(rates(&engine), [3, 3, 3]);
}

/// Bounds: 40 for three transfers, one of which has a bound of 4: 4, 18, 18. When one of the others
/// ends the last gets 36.
#[test]
fn capacity_above_a_bound_goes_to_the_others() {
    let mut engine = Engine::new(vec![rate(40, 1)]).unwrap();
    let slow = Transfer {
        rate_max: Some(rate(4, 1)),
        ..over(&[0], 4_000, 0)
    };
    engine.offer(0, slow);
    engine.offer(0, over(&[0], 1_800, 1));
    engine.offer(0, over(&[0], 9_000, 2));
    engine.run_until(1, &mut Ends::default());
    assert_eq!(rates(&engine), [4 << 24, 18 << 24, 18 << 24]);
    // The second ends at 100. The third has moved 1,800 of 9,000 then; 7,200 at 36 take 200 more.
    assert_eq!(run(&mut engine), [(1, 100), (2, 300), (0, 1_000)]);
}

/// Section 6.3: a transfer to the interface and the connections of a reshuffle on a link of 40
/// MB/s. Ticks of 1 us: 40 bytes each. With equal sharing, more connections slow the transfer down.
/// With a reservation of 30 it is as fast beside one as beside nine.
#[test]
fn a_reservation_keeps_the_reshuffle_away_from_the_interface() {
    let end = |connections: usize, reserved: Option<Rate>| {
        let mut engine = Engine::new(vec![rate(40, 1)]).unwrap();
        let whole = Transfer {
            reserved,
            ..over(&[0], 65_536, 0)
        };
        engine.offer(0, whole);
        for tag in 1..=connections {
            engine.offer(0, over(&[0], 1 << 30, tag));
        }
        let mut ends = Ends::default();
        engine.run_until(100_000, &mut ends);
        ends.0[0].1
    };
    let reserved = Some(rate(30, 1));
    // 40 / (n + 1), or 30 + 10 / (n + 1): 20, 10, 4 and 35, 32.5, 31 bytes per tick.
    for (connections, even, with) in [(1, 20.0, 35.0), (3, 10.0, 32.5), (9, 4.0, 31.0)] {
        let ticks = |rate: f64| (65_536.0 / rate).ceil() as Cycles;
        assert_eq!(end(connections, None), ticks(even));
        assert_eq!(end(connections, reserved), ticks(with));
    }
}

/// Latency, no bytes and no links.
#[test]
fn a_transfer_without_data_ends_when_it_would_move() {
    let mut engine = Engine::new(vec![rate(1, 1)]).unwrap();
    let late = |transfer| Transfer {
        latency: 7,
        ..transfer
    };
    engine.offer(3, late(over(&[0], 0, 0)));
    engine.offer(3, over(&[], 5_000, 1));
    let bound = Transfer {
        rate_max: Some(rate(10, 1)),
        ..over(&[], 5_000, 2)
    };
    engine.offer(3, late(bound));
    engine.offer(3, late(over(&[0], 9, 3)));
    assert_eq!(run(&mut engine), [(1, 3), (0, 10), (3, 19), (2, 510)]);
}

/// Work conservation on one link: busy ticks times capacity is the work carried, up to the last
/// tick of each busy period and the rounding loss.
#[test]
fn a_link_with_work_is_never_idle() {
    let mut engine = Engine::new(vec![rate(40, 1)]).unwrap();
    engine.count_from_now();
    let mut total = 0;
    for number in 0..200u64 {
        let bytes = 100 + number * 7_919 % 3_000;
        total += bytes;
        engine.offer(
            number * number * 31 % 4_000,
            over(&[0], bytes, number as usize),
        );
    }
    run(&mut engine);
    let counters = engine.counted();
    assert_eq!(counters.bytes, [total]);
    // Each end may waste most of a tick: 200 ticks. Rounding loses 200 steps of 40 * 2^24 per tick.
    let least = total.div_ceil(40);
    assert!(
        (least..=least + 201).contains(&counters.busy[0]),
        "{counters:?}, {least}"
    );
}
