//! The engine against the flit-by-flit reference: every grant and every arrival of every message,
//! on random channels, paths, lengths, ready times, ties and follow-up messages.

use isthmus_flit::{Arrival, Message, Ready};
use isthmus_kernel::{Engine as _, RunUntil};
use isthmus_wormhole::{self as wormhole, Channels, Delivered, Engine, Handler};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;

/// Flits that the buffer of a lane holds.
const DEPTH: usize = 1;

/// Sends the messages of a list as they become ready: offers those that follow no other, and starts the
/// others when a timer is due. The tag is the index in the list.
struct Replay<'a> {
    messages: &'a [Message],
    /// Numbers given by the engine, by index.
    numbers: Vec<u64>,
    /// Index by number.
    order: Vec<usize>,
    arrivals: Vec<Arrival>,
    left: usize,
}

/// For how long each channel was held in a window.
struct Held {
    window: (u64, u64),
    cycles: Vec<u64>,
}

impl<'a> Replay<'a> {
    fn run(lanes: &[u32], messages: &'a [Message]) -> (Vec<Arrival>, Vec<u64>) {
        let (arrivals, numbers, _) = Self::counted(lanes, messages, None);
        (arrivals, numbers)
    }

    /// Also the cycles for which each channel was held in a window.
    fn counted(
        lanes: &[u32],
        messages: &'a [Message],
        window: Option<(u64, u64)>,
    ) -> (Vec<Arrival>, Vec<u64>, Option<Held>) {
        let mut engine = Engine::new(Channels::new(lanes.iter().copied()));
        let empty = Arrival {
            grants: Vec::new(),
            released: Vec::new(),
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
                engine.offer(cycle, offered(index, message));
            }
        }
        let held = window.map(|(from, to)| {
            engine.run_until(from, &mut replay);
            let from = from.max(engine.now());
            engine.channels_mut().count(from);
            engine.run_until(to, &mut replay);
            let to = to.max(engine.now());
            Held {
                window: (from, to),
                cycles: engine.channels().held(to),
            }
        });
        engine.run_until(u64::MAX, &mut replay);
        assert_eq!(replay.left, 0, "messages never arrived");
        (replay.arrivals, replay.numbers, held)
    }
}

fn offered(index: usize, message: &Message) -> wormhole::Message<'_, usize> {
    wormhole::Message {
        length: message.length,
        path: &message.path,
        tag: index,
    }
}

impl Handler for Replay<'_> {
    type Tag = usize;

    fn timer(&mut self, engine: &mut Engine<usize>, timer: u32) {
        let index = timer as usize;
        let number = engine.start(offered(index, &self.messages[index]));
        self.generated(engine, number, index);
    }

    fn generated(&mut self, _: &mut Engine<usize>, number: u64, index: usize) {
        self.numbers[index] = number;
        self.order.push(index);
    }

    fn delivered(&mut self, engine: &mut Engine<usize>, delivered: &Delivered<usize>) {
        let arrival = &mut self.arrivals[delivered.tag];
        arrival.header = delivered.header;
        arrival.tail = delivered.tail;
        self.left -= 1;
        for (index, message) in self.messages.iter().enumerate() {
            if let Ready::After { message: of, delay } = message.ready
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
                            message: of.index(index),
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
    let (compared, short, kept) = (Cell::new(0u64), Cell::new(0u64), Cell::new(0u64));
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
            let slow = isthmus_flit::run(&lanes, DEPTH, &messages).expect("no deadlock");
            prop_assert_eq!(fast.len(), slow.len());
            for (fast, slow) in fast.iter().zip(&slow) {
                prop_assert_eq!(&fast.grants, &slow.grants);
                prop_assert_eq!((fast.header, fast.tail), (slow.header, slow.tail));
            }
            for (message, arrival) in messages.iter().zip(&slow) {
                let tails = tails_kept(message, arrival);
                short.set(short.get() + u64::from(message.path.len() > message.length as usize));
                kept.set(kept.get() + tails);
            }
            compared.set(compared.get() + messages.len() as u64);
            Ok(())
        })
        .unwrap();
    println!(
        "{cases} random scenarios, {} messages: no difference in any grant or arrival; {} were \
         shorter than their paths and had their tails wait in {} buffers",
        compared.get(),
        short.get(),
        kept.get()
    );
    assert!(short.get() > 10_000 && kept.get() > 5_000);
}

/// Buffers in which the tail of a message has had to wait because its head had.
fn tails_kept(message: &Message, arrival: &Arrival) -> u64 {
    let length = message.length as usize;
    let ahead = arrival.grants.windows(length + 1);
    // The tail crosses a channel when the head crosses the one `length - 1` further on.
    ahead
        .filter(|grants| grants[length] > grants[length - 1] + 1)
        .count() as u64
}

/// From the grant of a lane to its release.
fn cycles_held(arrival: &Arrival, hop: usize, window: (u64, u64)) -> u64 {
    let from = arrival.grants[hop].max(window.0);
    arrival.released[hop].min(window.1).saturating_sub(from)
}

#[test]
fn channels_are_held_for_as_long_as_the_flit_reference_says() {
    let cases = 2_000;
    let (whole, clipped) = (Cell::new(0u64), Cell::new(0u64));
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    let windows = (scenario(), 0u64..3000, 0u64..3000);
    runner
        .run(&windows, |((lanes, mut messages), a, b)| {
            let window = (a.min(b), a.max(b));
            let (_, numbers, held) = Replay::counted(&lanes, &messages, Some(window));
            // A head that nothing gets in the way of may have been followed beyond its ends.
            let Held {
                window,
                cycles: held,
            } = held.expect("a window was given");
            for (message, number) in messages.iter_mut().zip(numbers) {
                message.rank = number;
            }
            let slow = isthmus_flit::run(&lanes, DEPTH, &messages).expect("no deadlock");
            let mut expected = vec![0; lanes.len()];
            for (message, arrival) in messages.iter().zip(&slow) {
                for (hop, &channel) in message.path.iter().enumerate() {
                    let cycles = cycles_held(arrival, hop, window);
                    expected[channel as usize] += cycles;
                    let all = cycles_held(arrival, hop, (0, u64::MAX));
                    whole.set(whole.get() + u64::from(cycles == all));
                    clipped.set(clipped.get() + u64::from(0 < cycles && cycles < all));
                }
            }
            prop_assert_eq!(&held, &expected);
            for (&held, &lanes) in held.iter().zip(&lanes) {
                prop_assert!(held <= u64::from(lanes) * (window.1 - window.0));
            }
            Ok(())
        })
        .unwrap();
    println!(
        "{} holdings within the window, {} cut by it: the same",
        whole.get(),
        clipped.get()
    );
    assert!(whole.get() > 1_000 && clipped.get() > 1_000);
}
