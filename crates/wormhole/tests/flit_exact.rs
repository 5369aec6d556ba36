//! The engine against the flit-by-flit reference: every grant and every arrival of every message,
//! on random channels, paths, lengths, ready times, ties and follow-up messages.

use isthmus_flit::{Arrival, Message, Ready};
use isthmus_wormhole::{Channels, Delivered, Engine, Handler};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// Starts the messages of a list as they become ready; the tag is the index in the list.
struct Replay<'a> {
    messages: &'a [Message],
    /// Numbers given by the engine, by index.
    numbers: Vec<u64>,
    /// Index by number.
    order: Vec<usize>,
    arrivals: Vec<Arrival>,
    left: usize,
}

impl<'a> Replay<'a> {
    fn run(lanes: &[u32], messages: &'a [Message]) -> (Vec<Arrival>, Vec<u64>) {
        let mut engine = Engine::new(Channels::new(lanes.iter().copied()));
        let empty = Arrival {
            grants: Vec::new(),
            header: 0,
            tail: 0,
        };
        let mut replay = Replay {
            messages,
            numbers: vec![u64::MAX; messages.len()],
            order: Vec::new(),
            arrivals: vec![empty; messages.len()],
            left: messages.len(),
        };
        for (index, message) in messages.iter().enumerate() {
            if let Ready::At(cycle) = message.ready {
                engine.schedule(cycle, index as u32);
            }
        }
        engine.run(&mut replay, u64::MAX);
        assert_eq!(replay.left, 0, "messages never arrived");
        (replay.arrivals, replay.numbers)
    }
}

impl Handler for Replay<'_> {
    type Tag = usize;

    fn timer(&mut self, engine: &mut Engine<usize>, timer: u32) {
        let index = timer as usize;
        let message = &self.messages[index];
        self.numbers[index] = engine.start(index, message.length, &message.path);
        self.order.push(index);
    }

    fn delivered(&mut self, engine: &mut Engine<usize>, delivered: &Delivered<usize>) {
        let arrival = &mut self.arrivals[delivered.tag];
        arrival.header = delivered.header;
        arrival.tail = delivered.tail;
        self.left -= 1;
        for (index, message) in self.messages.iter().enumerate() {
            if let Ready::After { of, delay } = message.ready
                && of == delivered.tag
            {
                engine.schedule(delivered.tail + delay, index as u32);
            }
        }
    }

    fn granted(&mut self, number: u64, hop: u32, time: u64) {
        let arrival = &mut self.arrivals[self.order[number as usize]];
        assert_eq!(arrival.grants.len(), hop as usize);
        arrival.grants.push(time);
    }

    fn finished(&self) -> bool {
        self.left == 0
    }
}

/// Channels in ranks: a path takes strictly rising channel numbers, so that there is no deadlock.
fn scenario() -> impl Strategy<Value = (Vec<u32>, Vec<Message>)> {
    let lanes = prop::collection::vec(prop_oneof![3 => Just(1u32), 1 => 2u32..5], 1..24);
    (lanes, 1usize..60, 1u64..2000)
        .prop_flat_map(|(lanes, count, window)| {
            let channels = lanes.len();
            let message = (
                0..window,
                prop_oneof![4 => 1u32..6, 4 => 6u32..40, 1 => 40u32..400],
                prop::collection::btree_set(0..channels as u32, 1..=channels.min(20)),
                prop::option::weighted(0.4, (any::<prop::sample::Index>(), 0u64..300)),
            );
            (Just(lanes), prop::collection::vec(message, count))
        })
        .prop_map(|(lanes, raw)| {
            let messages = raw
                .into_iter()
                .enumerate()
                .map(|(index, (cycle, length, path, parent))| Message {
                    ready: match parent {
                        Some((of, delay)) if index > 0 => Ready::After {
                            of: of.index(index),
                            delay,
                        },
                        _ => Ready::At(cycle),
                    },
                    length,
                    path: path.into_iter().collect(),
                    rank: 0,
                })
                .collect();
            (lanes, messages)
        })
}

#[test]
fn equals_the_flit_reference_message_by_message() {
    let cases = 2_000;
    let compared = Cell::new(0u64);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(&scenario(), |(lanes, mut messages)| {
            let (fast, numbers) = Replay::run(&lanes, &messages);
            for (message, number) in messages.iter_mut().zip(numbers) {
                message.rank = number;
            }
            let slow = isthmus_flit::run(&lanes, &messages).expect("no deadlock");
            prop_assert_eq!(&fast, &slow);
            compared.set(compared.get() + messages.len() as u64);
            Ok(())
        })
        .unwrap();
    println!(
        "{cases} random scenarios, {} messages: no difference in any grant or arrival",
        compared.get()
    );
}
