//! Engine and reference in the conformance suite: a line of links.

use crate::reference::{Event, Reference, Wish};
use isthmus_conformance::line::{self, path};
use isthmus_conformance::{Candidate, Log, Offer, check};
use isthmus_flow::{Counters, Delivered, Engine, Handler, Rate, Transfer};
use isthmus_kernel::{Cycles, Engine as Contract, Ran, RunUntil};

/// 5 bytes in 3 ticks, which is not a whole number of steps.
fn capacity() -> Rate {
    Rate::new(5, 3).unwrap()
}

fn links() -> usize {
    line::lanes().count()
}

/// Some transfers have bounds, some have reservations, some have latencies.
fn wish(number: usize, offer: &Offer) -> Wish {
    Wish {
        bytes: offer.size.into(),
        path: path(offer),
        latency: u64::from(offer.size % 3),
        rate_max: offer
            .size
            .is_multiple_of(5)
            .then(|| Rate::new(1, 2).unwrap().steps()),
        reserved: offer
            .size
            .is_multiple_of(7)
            .then(|| Rate::new(1, 90).unwrap().steps()),
        tag: number,
    }
}

fn offer_to(engine: &mut Engine<usize>, time: Cycles, wish: &Wish) {
    let rate = |steps: Option<u64>| steps.map(|steps| Rate::new(steps, 1 << 24).unwrap());
    let transfer = Transfer {
        bytes: wish.bytes,
        path: &wish.path,
        latency: wish.latency,
        rate_max: rate(wish.rate_max),
        reserved: rate(wish.reserved),
        tag: wish.tag,
    };
    engine.offer(time, transfer);
}

struct Driver<'a, 'c>(&'a mut Log<'c>);

impl Handler for Driver<'_, '_> {
    type Tag = usize;

    fn generated(&mut self, engine: &mut Engine<usize>, _: u64, tag: usize) {
        for (time, number, offer) in self.0.generated(engine.now(), tag) {
            offer_to(engine, time, &wish(number, offer));
        }
    }

    fn delivered(&mut self, engine: &mut Engine<usize>, delivered: &Delivered<usize>) {
        let (at, size) = (delivered.arrived, delivered.bytes as u32);
        assert_eq!(at, engine.now());
        for (time, number, offer) in self.0.delivered(at, delivered.tag, size, at) {
            offer_to(engine, time, &wish(number, offer));
        }
    }

    fn finished(&self) -> bool {
        self.0.is_finished()
    }
}

struct Fast;

impl Candidate for Fast {
    type Engine = Engine<usize>;

    const NODES: u32 = line::NODES;
    const SIZE_MAX: u32 = 120;

    fn new() -> Engine<usize> {
        Engine::new(vec![capacity(); links()]).unwrap()
    }

    fn offer(engine: &mut Engine<usize>, time: Cycles, number: usize, offer: &Offer) {
        offer_to(engine, time, &wish(number, offer));
    }

    fn run_until(engine: &mut Engine<usize>, limit: Cycles, log: &mut Log<'_>) -> Ran {
        engine.run_until(limit, &mut Driver(log))
    }

    fn count(engine: &mut Engine<usize>) {
        engine.count_from_now();
    }

    fn counted(engine: &Engine<usize>) -> Vec<u64> {
        let Counters { bytes, busy } = engine.counted();
        [bytes, busy].concat()
    }
}

/// The reference, as a candidate.
struct Naive(Reference);

impl Contract for Naive {
    type Message<'a> = Wish;

    fn now(&self) -> Cycles {
        self.0.now
    }

    fn offer(&mut self, time: Cycles, wish: Wish) {
        assert!(self.0.offer(time, wish), "more was reserved than there is");
    }

    fn under_way(&self) -> u64 {
        self.0.under_way()
    }
}

struct Slow;

impl Candidate for Slow {
    type Engine = Naive;

    const NODES: u32 = line::NODES;
    const SIZE_MAX: u32 = 120;

    fn new() -> Naive {
        Naive(Reference::new(&vec![capacity().steps(); links()]))
    }

    fn offer(engine: &mut Naive, time: Cycles, number: usize, offer: &Offer) {
        engine.offer(time, wish(number, offer));
    }

    fn run_until(engine: &mut Naive, limit: Cycles, log: &mut Log<'_>) -> Ran {
        while !log.is_finished() {
            let more = engine.0.step(limit, &mut |reference, event| {
                let follow_ups = match event {
                    Event::Started { time, tag, .. } => log.generated(time, tag),
                    Event::Ended { time, tag, .. } => {
                        let size = log.size(tag);
                        log.delivered(time, tag, size, time)
                    }
                };
                for (time, number, offer) in follow_ups {
                    assert!(reference.offer(time, wish(number, offer)));
                }
            });
            if !more {
                let due = engine.0.next() < Cycles::MAX;
                return Ran::at_limit(due, engine.under_way());
            }
        }
        Ran::Finished
    }

    fn counted(engine: &Naive) -> Vec<u64> {
        let bytes = engine.0.carried.iter().map(|steps| (steps >> 24) as u64);
        bytes.chain(engine.0.busy.iter().copied()).collect()
    }
}

#[test]
fn the_engine_keeps_the_contract() {
    println!("{}", check::<Fast>(400));
}

#[test]
fn the_reference_keeps_the_contract() {
    println!("{}", check::<Slow>(25));
}
