//! Engine and reference in the suite of all engines: a binary tree of eight nodes, with circuits and
//! with cut-through.

use crate::reference::{Answers, Reference, Told};
use isthmus_conformance::{Candidate, Log, Offer, check};
use isthmus_kernel::{Cycles, Ran};
use isthmus_packet::ways::FatTree;
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Delivery, Engine, Handler, Interface, Kind, Message, Offers,
    Rules, Switching,
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

struct Driver<'a, 'c>(&'a mut Log<'c>);

impl Handler for Driver<'_, '_> {
    type Tag = u32;

    fn generated(&mut self, time: Cycles, message: &Message<u32>, _: &mut Offers<u32>) {
        self.0.generated(time, message.tag as usize);
    }

    fn delivered(&mut self, delivery: &Delivery<u32>, offers: &mut Offers<u32>) {
        let (number, size) = (delivery.message.tag as usize, delivery.message.bytes as u32);
        let at = delivery.arrived;
        for (time, number, offer) in self.0.delivered(at, number, size, at) {
            offers.send(time, message(number, offer));
        }
    }

    fn finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// Messages that an engine has been offered and that it has not told of yet.
#[derive(Default)]
struct ToCome {
    offered: usize,
    generated: usize,
}

struct Fast<const CIRCUIT: bool> {
    engine: Engine<u32, FatTree>,
    to_come: ToCome,
}

impl<const CIRCUIT: bool> Candidate for Fast<CIRCUIT> {
    const NODES: u32 = 8;
    const SIZE_MAX: u32 = 100;

    fn new() -> Self {
        Self {
            engine: Engine::new(Arc::new(FatTree::new(&TREE.0, TREE.1)), rules(CIRCUIT), 1)
                .expect("rules that can be followed"),
            to_come: ToCome::default(),
        }
    }

    fn clear(&mut self) {
        self.engine.clear(1);
        self.to_come = ToCome::default();
    }

    fn offer(&mut self, time: Cycles, number: usize, offer: &Offer) {
        self.engine.send(time, message(number, offer));
        self.to_come.offered += 1;
    }

    fn run_until(&mut self, limit: Cycles, log: &mut Log<'_>) -> Ran {
        let before = log.counts();
        let ran = self.engine.run_until(limit, &mut Driver(log));
        let after = log.counts();
        self.to_come.offered += after.follow_ups - before.follow_ups;
        self.to_come.generated += after.generated - before.generated;
        ran
    }

    fn now(&self) -> Cycles {
        self.engine.now()
    }

    fn under_way(&self) -> u64 {
        let to_come = self.to_come.offered - self.to_come.generated;
        (self.engine.under_way().0 - to_come) as u64
    }
}

/// The reference, tick by tick.
struct Slow<const CIRCUIT: bool> {
    reference: Reference<'static>,
    now: Cycles,
    to_come: ToCome,
}

impl<const CIRCUIT: bool> Candidate for Slow<CIRCUIT> {
    const NODES: u32 = 8;
    const SIZE_MAX: u32 = 100;
    const FAR: Cycles = 2_000;

    fn new() -> Self {
        let mut reference = Reference::new(&*TREE, rules(CIRCUIT), 1);
        reference.count_from_now();
        Self {
            reference,
            now: 0,
            to_come: ToCome::default(),
        }
    }

    fn clear(&mut self) {
        *self = Self::new();
    }

    fn offer(&mut self, time: Cycles, number: usize, offer: &Offer) {
        self.reference.send(time, message(number, offer));
        self.to_come.offered += 1;
    }

    fn run_until(&mut self, limit: Cycles, log: &mut Log<'_>) -> Ran {
        while self.now < limit {
            if log.is_finished() {
                return Ran::Finished;
            }
            let before = log.counts();
            let mut messages = Vec::new();
            self.reference.run_until(self.now + 1, &mut |told| {
                messages.clear();
                match *told {
                    Told::Generated { time, tag } => log.generated(time, tag as usize),
                    Told::Delivered { tag, arrived, .. } => {
                        let (number, size) = (tag as usize, log.size(tag as usize));
                        for (time, number, offer) in log.delivered(arrived, number, size, arrived) {
                            messages.push((time, message(number, offer)));
                        }
                    }
                    _ => {}
                }
                Answers {
                    messages: messages.clone(),
                    reminders: Vec::new(),
                }
            });
            let after = log.counts();
            self.to_come.offered += after.follow_ups - before.follow_ups;
            self.to_come.generated += after.generated - before.generated;
            self.now += 1;
        }
        Ran::at_limit(self.reference.under_way().0 > 0, self.under_way())
    }

    fn now(&self) -> Cycles {
        self.now
    }

    fn under_way(&self) -> u64 {
        let to_come = self.to_come.offered - self.to_come.generated;
        (self.reference.under_way().0 - to_come) as u64
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
