//! The engine in the suite of all engines: a line of channels with few lanes.

use isthmus_conformance::line::{self, path};
use isthmus_conformance::{Candidate, Log, Offer, check};
use isthmus_kernel::{Cycles, Engine as _, Ran, RunUntil};
use isthmus_wormhole::{Channels, Delivered, Engine, Handler, Message};

struct Driver<'a, 'c>(&'a mut Log<'c>);

impl Handler for Driver<'_, '_> {
    type Tag = usize;

    fn generated(&mut self, engine: &mut Engine<usize>, _: u64, tag: usize) {
        for (time, number, offer) in self.0.generated(engine.now(), tag) {
            Line::offer(engine, time, number, offer);
        }
    }

    fn delivered(&mut self, engine: &mut Engine<usize>, delivered: &Delivered<usize>) {
        let (number, size) = (delivered.tag, delivered.length);
        let follow_ups = (self.0).delivered(engine.now(), number, size, delivered.tail);
        for (time, number, offer) in follow_ups {
            Line::offer(engine, time, number, offer);
        }
    }

    fn finished(&self) -> bool {
        self.0.is_finished()
    }
}

struct Line;

impl Candidate for Line {
    type Engine = Engine<usize>;

    const NODES: u32 = line::NODES;
    const SIZE_MAX: u32 = 40;

    fn new() -> Engine<usize> {
        Engine::new(Channels::new(line::lanes()))
    }

    fn offer(engine: &mut Engine<usize>, time: Cycles, number: usize, offer: &Offer) {
        let message = Message {
            length: offer.size,
            path: &path(offer),
            tag: number,
        };
        engine.offer(time, message);
    }

    fn run_until(engine: &mut Engine<usize>, limit: Cycles, log: &mut Log<'_>) -> Ran {
        engine.run_until(limit, &mut Driver(log))
    }

    fn count(engine: &mut Engine<usize>) {
        let now = engine.now();
        engine.channels_mut().count(now);
    }

    fn counted(engine: &Engine<usize>) -> Vec<u64> {
        let channels = engine.channels();
        let carried = channels.carried().iter();
        let mut counted: Vec<u64> = carried
            .flat_map(|carried| [carried.flits, carried.messages])
            .collect();
        counted.extend(channels.held(engine.now()));
        counted
    }
}

#[test]
fn the_engine_keeps_the_contract() {
    println!("{}", check::<Line>(500));
}

#[test]
fn messages_that_block_one_another_are_stalled() {
    struct Nobody;
    impl Handler for Nobody {
        type Tag = ();
        fn delivered(&mut self, _: &mut Engine<()>, _: &Delivered<()>) {}
        fn finished(&self) -> bool {
            false
        }
    }
    let mut engine = Engine::new(Channels::new([1, 1]));
    let message = |path| Message {
        length: 9,
        path,
        tag: (),
    };
    engine.offer(3, message(&[0, 1]));
    engine.offer(3, message(&[1, 0]));
    // The first that has to wait is woken when it would get the channel if the other did not wait too.
    assert_eq!(engine.run_until(3 + 9, &mut Nobody), Ran::Going);
    for (limit, now) in [(13, 13), (100, 100), (50, 100)] {
        assert_eq!(engine.run_until(limit, &mut Nobody), Ran::Stalled);
        assert_eq!((engine.now(), engine.under_way()), (now, 2));
    }
}
