//! Engine and reference in the suite of all engines: a binary tree of eight nodes, with circuits and
//! with cut-through.

use crate::engine::reference::{Answers, Reference, Report};
use isthmus_conformance::{Candidate, FollowUps, Log, Offer, check};
use isthmus_kernel::{Cycles, Engine as _, Ran, RunUntil};
use isthmus_packet::routes::FatTree;
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Counters, Delivery, Engine, Handler, Interface, Kind, Message,
    Offers, Rules, Switching,
};
use isthmus_topology::trees::{Ascent, Shape, Tree};
use std::sync::{Arc, LazyLock};

const CIRCUIT: bool = true;
const CUT_THROUGH: bool = false;

static TREE: LazyLock<(Tree, Ascent)> = LazyLock::new(|| {
    let shape = Shape::KAry {
        arity: 2,
        levels: 3,
    };
    (Tree::new(&shape).expect("a small tree"), Ascent::Adaptive)
});

fn rules(circuit: bool) -> Rules {
    Rules {
        byte: 1,
        hop: 3,
        acknowledge: 2,
        acknowledge_hop: 1,
        channels: 2,
        switching: if circuit {
            Switching::Circuit { in_flight: 2 }
        } else {
            Switching::CutThrough {
                buffer: 20,
                credit: 2,
                outputs: None,
            }
        },
        adaptive: Adaptive::default(),
        age: Age {
            from: AgeFrom::Injection,
            saturates: None,
            tie: AgeTie::RoundRobin,
        },
        late: None,
        payload: 8,
        overhead: 2,
        block: 1,
        interface: Interface {
            queues: 1,
            start: 1,
            packet: 2,
            packet_block: 0,
            receive: 1,
            slice: 2,
            request: 1,
            turnaround: 1,
        },
    }
}

fn message(number: usize, offer: &Offer) -> Message<u32> {
    Message {
        from: offer.from,
        to: offer.to,
        bytes: offer.size.into(),
        kind: Kind::Write,
        queue: 0,
        tag: number as u32,
    }
}

fn messages(follow_ups: FollowUps<'_>) -> impl Iterator<Item = (Cycles, Message<u32>)> {
    let follow_ups = follow_ups.into_iter();
    follow_ups.map(|(time, number, offer)| (time, message(number, offer)))
}

struct Driver<'a, 'c>(&'a mut Log<'c>);

impl Handler for Driver<'_, '_> {
    type Tag = u32;

    fn generated(&mut self, time: Cycles, message: &Message<u32>, offers: &mut Offers<u32>) {
        for (time, message) in messages(self.0.generated(time, message.tag as usize)) {
            offers.offer(time, message);
        }
    }

    fn delivered(&mut self, delivery: &Delivery<u32>, offers: &mut Offers<u32>) {
        let (number, size) = (delivery.message.tag as usize, delivery.message.bytes as u32);
        let at = delivery.arrived;
        for (time, message) in messages(self.0.delivered(at, number, size, at)) {
            offers.offer(time, message);
        }
    }

    fn finished(&self) -> bool {
        self.0.is_finished()
    }
}

fn counted(counters: &Counters) -> Vec<u64> {
    let Counters {
        busy,
        packets,
        held,
        dma,
        sent,
        bytes,
        received,
    } = counters;
    [busy, packets, held, dma, sent, bytes, received]
        .into_iter()
        .flatten()
        .copied()
        .collect()
}

struct Fast<const CIRCUIT: bool>;

impl<const CIRCUIT: bool> Candidate for Fast<CIRCUIT> {
    type Engine = Engine<u32, FatTree>;

    const NODES: u32 = 8;
    const SIZE_MAX: u32 = 100;

    fn new() -> Self::Engine {
        Engine::new(Arc::new(FatTree::new(&TREE.0, TREE.1)), rules(CIRCUIT), 1)
            .expect("rules that can be followed")
    }

    fn offer(engine: &mut Self::Engine, time: Cycles, number: usize, offer: &Offer) {
        engine.offer(time, message(number, offer));
    }

    fn run_until(engine: &mut Self::Engine, limit: Cycles, log: &mut Log<'_>) -> Ran {
        engine.run_until(limit, &mut Driver(log))
    }

    fn counted(engine: &Self::Engine) -> Vec<u64> {
        counted(&engine.counted())
    }
}

/// The reference, tick by tick.
struct Slow<const CIRCUIT: bool>;

impl<const CIRCUIT: bool> Candidate for Slow<CIRCUIT> {
    type Engine = Reference<'static>;

    const NODES: u32 = 8;
    const SIZE_MAX: u32 = 100;
    const FAR: Cycles = 2_000;

    fn new() -> Self::Engine {
        Reference::new(&*TREE, rules(CIRCUIT), 1)
    }

    fn offer(reference: &mut Self::Engine, time: Cycles, number: usize, offer: &Offer) {
        reference.offer(time, message(number, offer));
    }

    fn run_until(reference: &mut Self::Engine, limit: Cycles, log: &mut Log<'_>) -> Ran {
        while !log.is_finished() {
            let now = reference.now();
            if now >= limit || (limit == Cycles::MAX && reference.open() == 0) {
                return Ran::at_limit(reference.open() > 0, reference.under_way());
            }
            reference.run_until(now + 1, &mut |report| {
                let follow_ups = match *report {
                    Report::Generated { time, tag } => log.generated(time, tag as usize),
                    Report::Delivered { tag, arrived, .. } => {
                        let (number, size) = (tag as usize, log.size(tag as usize));
                        log.delivered(arrived, number, size, arrived)
                    }
                    _ => Vec::new(),
                };
                Answers {
                    messages: messages(follow_ups).collect(),
                    ..Answers::default()
                }
            });
        }
        Ran::Finished
    }

    fn counted(reference: &Self::Engine) -> Vec<u64> {
        counted(&reference.counters)
    }
}

#[test]
fn the_engine_keeps_the_contract_with_circuits() {
    println!("{}", check::<Fast<CIRCUIT>>(120));
}

#[test]
fn the_engine_keeps_the_contract_with_cut_through() {
    println!("{}", check::<Fast<CUT_THROUGH>>(120));
}

#[test]
fn the_reference_keeps_the_contract() {
    println!("{}", check::<Slow<CIRCUIT>>(8));
    println!("{}", check::<Slow<CUT_THROUGH>>(8));
}
