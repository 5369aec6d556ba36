//! Engine and reference on random networks: all reports in order, all rates, all counters.

use crate::fairness::{Bounds, assert_fair};
use crate::reference::{Event, Reference, Wish};
use isthmus_flow::{Counters, Delivered, Engine, Handler, Rate, Transfer};
use isthmus_kernel::{Engine as _, Ran, RunUntil};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A transfer, and the begin or end of another one that triggers it.
#[derive(Debug, Clone)]
struct Request {
    /// The time, or the delay after the trigger.
    time: u64,
    after: Option<(bool, usize)>,
    wish: Wish,
}

#[derive(Debug, Clone)]
struct Case {
    capacities: Vec<u64>,
    asks: Vec<Request>,
    /// Ends of the runs, each relative to the previous one.
    cuts: Vec<u64>,
}

/// Statistics of the cases.
#[derive(Debug, Default)]
struct Statistics {
    cases: u64,
    transfers: u64,
    follow_ups: u64,
    refused: u64,
    /// Cases in which transfers moved at two shares at least, at the end of some piece.
    two_levels: u64,
    three_levels: u64,
    /// Transfers that moved at their bound, and above their reservation.
    bound: u64,
    reserved: u64,
    starved: u64,
    /// Ends reported in the tick of the previous end.
    ties: u64,
    at_once: u64,
    stalled: u64,
    checked_fair: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Event(Event),
    Refused(usize),
}

fn rate(steps: u64) -> Rate {
    Rate::new(steps, 1 << 24).unwrap()
}

fn transfer(wish: &Wish) -> Transfer<'_, usize> {
    Transfer {
        bytes: wish.bytes,
        path: &wish.path,
        latency: wish.latency,
        rate_max: wish.rate_max.map(rate),
        reserved: wish.reserved.map(rate),
        tag: wish.tag,
    }
}

fn answers(case: &Case, end: bool, tag: usize) -> impl Iterator<Item = &Request> {
    let after = Some((end, tag));
    case.asks.iter().filter(move |ask| ask.after == after)
}

struct Recorder<'c> {
    case: &'c Case,
    lines: Vec<Line>,
}

impl Recorder<'_> {
    fn answer(&mut self, engine: &mut Engine<usize>, end: bool, tag: usize) {
        for ask in answers(self.case, end, tag) {
            let time = engine.now() + ask.time;
            if engine.try_offer(time, transfer(&ask.wish)).is_err() {
                self.lines.push(Line::Refused(ask.wish.tag));
            }
        }
    }
}

impl Handler for Recorder<'_> {
    type Tag = usize;

    fn generated(&mut self, engine: &mut Engine<usize>, number: u64, tag: usize) {
        let time = engine.now();
        self.lines
            .push(Line::Event(Event::Started { time, number, tag }));
        self.answer(engine, false, tag);
    }

    fn delivered(&mut self, engine: &mut Engine<usize>, delivered: &Delivered<usize>) {
        let &Delivered {
            number,
            tag,
            arrived: time,
            ..
        } = delivered;
        self.lines
            .push(Line::Event(Event::Ended { time, number, tag }));
        self.answer(engine, true, tag);
    }
}

/// Coarse: links of a few steps, so that every share is rounded, levels coincide and some transfers
/// get nothing.
fn cases() -> impl Strategy<Value = Case> {
    (any::<bool>(), 1usize..9).prop_flat_map(|(coarse, links)| {
        let (steps, tick, bytes) = match coarse {
            true => (1u64..40, 1u64 << 22, 4u64),
            false => (1 << 22..1 << 26, 1, 200),
        };
        let small = prop_oneof![3 => Just(0u64), 2 => 0u64..4, 1 => 0u64..60];
        let times = small.clone().prop_map(move |time| time * tick);
        let path =
            prop::sample::subsequence((0..links as u32).collect::<Vec<_>>(), 0..=links.min(4));
        let few = prop_oneof![
            steps.clone(),
            Just(steps.start + (steps.end - steps.start) / 3)
        ];
        let wish = (
            prop_oneof![1 => Just(0u64), 12 => 1..=bytes],
            path.prop_shuffle(),
            prop_oneof![3 => Just(0u64), 1 => times.clone()],
            prop::option::weighted(0.25, steps.start..steps.end / 3),
            prop::option::weighted(0.2, 1..steps.end / 8),
        );
        let ask = (
            times.clone(),
            prop::option::weighted(0.4, (any::<bool>(), any::<prop::sample::Index>())),
            wish,
        );
        (
            prop::collection::vec(few, links),
            prop::collection::vec(ask, 1..40),
            prop::collection::vec(small.prop_map(move |cut| cut * tick * 4), 1..12),
        )
            .prop_map(|(capacities, raw, cuts)| {
                let mut asks: Vec<Request> = Vec::new();
                for (tag, (time, after, wish)) in raw.into_iter().enumerate() {
                    let (bytes, path, latency, rate_max, reserved) = wish;
                    let after = after.filter(|_| tag > 0);
                    let after = after.map(|(end, of)| (end, of.index(tag)));
                    // A bound must not be below the reservation.
                    let rate_max = rate_max.map(|rate_max| rate_max.max(reserved.unwrap_or(0)));
                    asks.push(Request {
                        time,
                        after,
                        wish: Wish {
                            bytes,
                            path,
                            latency,
                            rate_max,
                            reserved,
                            tag,
                        },
                    });
                }
                Case {
                    capacities,
                    asks,
                    cuts,
                }
            })
    })
}

/// Runs both through the same pieces and compares everything.
fn compare(case: &Case, statistics: &mut Statistics) -> Result<(), TestCaseError> {
    let capacities: Vec<Rate> = case.capacities.iter().map(|&steps| rate(steps)).collect();
    let mut engine = Engine::new(capacities).unwrap();
    let mut reference = Reference::new(&case.capacities);
    let mut recorder = Recorder {
        case,
        lines: Vec::new(),
    };
    let mut lines = Vec::new();
    engine.count_from_now();
    for ask in case.asks.iter().filter(|ask| ask.after.is_none()) {
        if engine.try_offer(ask.time, transfer(&ask.wish)).is_err() {
            recorder.lines.push(Line::Refused(ask.wish.tag));
        }
        if !reference.offer(ask.time, ask.wish.clone()) {
            lines.push(Line::Refused(ask.wish.tag));
        }
    }
    let mut levels = 0;
    let mut limit = 0;
    for cut in case.cuts.iter().copied().chain([u64::MAX]) {
        limit = cut.saturating_add(limit);
        let ran = engine.run_until(limit, &mut recorder);
        while reference.step(limit, &mut |reference, event| {
            lines.push(Line::Event(event));
            let (end, time, tag) = match event {
                Event::Started { time, tag, .. } => (false, time, tag),
                Event::Ended { time, tag, .. } => (true, time, tag),
            };
            for ask in answers(case, end, tag) {
                if !reference.offer(time + ask.time, ask.wish.clone()) {
                    lines.push(Line::Refused(ask.wish.tag));
                }
            }
        }) {}
        prop_assert_eq!(&recorder.lines, &lines);
        prop_assert_eq!(engine.now(), reference.now);
        prop_assert_eq!(engine.under_way(), reference.under_way());
        let due = reference.next() < u64::MAX;
        prop_assert_eq!(ran, Ran::at_limit(due, reference.under_way()));
        // A transfer that begins to move now has no rate yet, in either.
        let moving: Vec<(u64, usize, u128)> = engine
            .moving()
            .iter()
            .map(|moving| {
                let steps = moving.rate.map_or(0, Rate::steps);
                (moving.number, moving.tag, u128::from(steps))
            })
            .collect();
        prop_assert_eq!(&moving, &reference.moving());
        let bounds = |tag: usize| {
            let wish = &case.asks[tag].wish;
            Bounds {
                rate_max: wish.rate_max,
                reserved: wish.reserved.unwrap_or(0),
            }
        };
        statistics.checked_fair += assert_fair(&engine, bounds);
        let shares: BTreeSet<u128> = moving
            .iter()
            .map(|(_, tag, rate)| rate - u128::from(bounds(*tag).reserved))
            .collect();
        levels = levels.max(shares.len());
        for (_, tag, rate) in &moving {
            let wish = &case.asks[*tag].wish;
            statistics.bound += u64::from(wish.rate_max.map(u128::from) == Some(*rate));
            statistics.reserved +=
                u64::from(wish.reserved.is_some_and(|steps| u128::from(steps) < *rate));
            statistics.starved += u64::from(*rate == 0);
        }
        let Counters { bytes, busy } = engine.counted();
        let carried = reference.carried.iter().map(|steps| (steps >> 24) as u64);
        prop_assert_eq!(bytes, carried.collect::<Vec<u64>>());
        prop_assert_eq!(&busy, &reference.busy);
        statistics.stalled += u64::from(ran == Ran::Stalled && limit == u64::MAX);
    }
    statistics.cases += 1;
    statistics.two_levels += u64::from(levels >= 2);
    statistics.three_levels += u64::from(levels >= 3);
    let mut last = None;
    for line in &lines {
        match *line {
            Line::Refused(_) => statistics.refused += 1,
            Line::Event(Event::Started { tag, .. }) => {
                statistics.transfers += 1;
                let ask = &case.asks[tag];
                statistics.follow_ups += u64::from(ask.after.is_some());
                statistics.at_once += u64::from(ask.wish.bytes == 0 || ask.wish.path.is_empty());
            }
            Line::Event(Event::Ended { time, .. }) => {
                statistics.ties += u64::from(last == Some(time));
                last = Some(time);
            }
        }
    }
    Ok(())
}

#[test]
fn engine_and_reference_report_the_same() {
    let statistics = RefCell::new(Statistics::default());
    let cases_wanted = 3_000;
    let mut runner = TestRunner::new(Config {
        cases: cases_wanted,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&cases(), |case| {
            compare(&case, &mut statistics.borrow_mut())
        })
        .unwrap();
    let statistics = statistics.into_inner();
    println!("{statistics:?}");
    let cases = u64::from(cases_wanted);
    assert_eq!(statistics.cases, cases);
    assert!(
        statistics.two_levels > cases / 3 && statistics.three_levels > cases / 5,
        "{statistics:?}"
    );
    assert!(
        statistics.transfers > 10 * cases && statistics.follow_ups > cases,
        "{statistics:?}"
    );
    let rare = [
        statistics.refused,
        statistics.bound,
        statistics.reserved,
        statistics.starved,
        statistics.ties,
        statistics.at_once,
    ];
    assert!(
        rare.iter().all(|&count| count > cases / 10),
        "{statistics:?}"
    );
    assert!(
        statistics.stalled > cases / 100 && statistics.checked_fair > cases,
        "{statistics:?}"
    );
}
