//! The engine in the suite of all engines: a line of channels with few lanes.

use isthmus_conformance::line::{self, path};
use isthmus_conformance::{Candidate, Log, Offer, check};
use isthmus_kernel::{Cycles, Ran};
use isthmus_wormhole::{Channels, Delivered, Engine, Handler};

struct Line {
    engine: Engine<usize>,
    offers: Vec<Option<Offer>>,
}

struct Driver<'a, 'c> {
    offers: &'a mut Vec<Option<Offer>>,
    log: &'a mut Log<'c>,
}

impl Driver<'_, '_> {
    fn keep(&mut self, number: usize, offer: &Offer) {
        keep(self.offers, number, offer);
    }
}

fn keep(offers: &mut Vec<Option<Offer>>, number: usize, offer: &Offer) {
    if offers.len() <= number {
        offers.resize(number + 1, None);
    }
    offers[number] = Some(offer.clone());
}

impl Handler for Driver<'_, '_> {
    type Tag = usize;

    fn timer(&mut self, engine: &mut Engine<usize>, timer: u32) {
        let number = timer as usize;
        let offer = self.offers[number].as_ref().expect("it was offered");
        self.log.generated(engine.now(), number);
        engine.start(number, offer.size, &path(offer));
    }

    fn delivered(&mut self, engine: &mut Engine<usize>, delivered: &Delivered<usize>) {
        let (number, size) = (delivered.tag, delivered.length);
        let follow_ups = self
            .log
            .delivered(engine.now(), number, size, delivered.tail);
        for (time, number, offer) in follow_ups {
            self.keep(number, offer);
            engine.schedule(time, number as u32);
        }
    }

    fn finished(&self) -> bool {
        self.log.is_finished()
    }
}

impl Candidate for Line {
    const NODES: u32 = line::NODES;
    const SIZE_MAX: u32 = 40;

    fn new() -> Self {
        Self {
            engine: Engine::new(Channels::new(line::lanes())),
            offers: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.engine.clear();
        self.offers.clear();
    }

    fn offer(&mut self, time: Cycles, number: usize, offer: &Offer) {
        keep(&mut self.offers, number, offer);
        self.engine.schedule(time, number as u32);
    }

    fn run_until(&mut self, limit: Cycles, log: &mut Log<'_>) -> Ran {
        let mut driver = Driver {
            offers: &mut self.offers,
            log,
        };
        self.engine.run_until(limit, &mut driver)
    }

    fn now(&self) -> Cycles {
        self.engine.now()
    }

    fn under_way(&self) -> u64 {
        self.engine.under_way()
    }
}

#[test]
fn the_engine_keeps_the_contract() {
    println!("{}", check::<Line>(500));
}
