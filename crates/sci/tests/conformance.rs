//! Both engines in the suite of all engines: rows and columns of a torus of two by three.

use isthmus_conformance::{Candidate, FollowUps, Log, Offer, check};
use isthmus_kernel::{Cycles, Ran, RunUntil};
use isthmus_sci::{
    ChangeFrom, Class, Counters, Delivery, Fabric, FlowControl, Handler, Offers, Packet,
    RingEngine, Rules, Source, event, symbol,
};
use isthmus_topology::rings::Segment;
use std::marker::PhantomData;

const RULES: Rules = Rules {
    hop: 7,
    ring_change: 11,
    change_from: ChangeFrom::Header,
    symbols_max: 40,
    echo: 4,
    input_slots: 2,
    output_slots: 2,
    client_slots: 2,
    source: Source::Unbounded,
    flow_control: FlowControl::None,
};

/// Rings 0 and 1 are the rows of three, rings 2 to 4 the columns of two.
fn route(offer: &Offer) -> Vec<Segment> {
    let [(x, y), (to_x, to_y)] = [offer.from, offer.to].map(|node| (node % 3, node / 3));
    let mut route = Vec::new();
    if x != to_x {
        let hops = (to_x + 3 - x) % 3;
        route.push(Segment { ring: y, hops });
    }
    if y != to_y {
        let ring = 2 + to_x;
        route.push(Segment { ring, hops: 1 });
    }
    route
}

fn packet<'r>(number: usize, offer: &Offer, route: &'r [Segment]) -> Packet<'r, usize> {
    Packet {
        node: offer.from,
        class: if offer.after.is_some() {
            Class::Response
        } else {
            Class::Request
        },
        symbols: 4 + offer.size,
        route,
        tag: number,
    }
}

fn offer_all(follow_ups: FollowUps<'_>, offers: &mut Offers<usize>) {
    for (time, number, offer) in follow_ups {
        offers.offer(time, packet(number, offer, &route(offer)));
    }
}

struct Driver<'a, 'c>(&'a mut Log<'c>);

impl Handler for Driver<'_, '_> {
    type Tag = usize;

    fn generated(&mut self, _: u32, time: Cycles, tag: usize, offers: &mut Offers<usize>) {
        offer_all(self.0.generated(time, tag), offers);
    }

    fn delivered(&mut self, delivery: &Delivery<usize>, offers: &mut Offers<usize>) {
        let (number, size) = (delivery.tag, delivery.symbols - 4);
        let follow_ups = (self.0).delivered(delivery.header, number, size, delivery.tail);
        offer_all(follow_ups, offers);
    }

    fn finished(&self) -> bool {
        self.0.is_finished()
    }
}

struct Torus<E, const FAR: Cycles>(PhantomData<E>);

impl<E, const FAR: Cycles> Candidate for Torus<E, FAR>
where
    E: RingEngine<usize> + for<'a, 'c> RunUntil<Driver<'a, 'c>>,
{
    type Engine = E;

    const NODES: u32 = 6;
    const SIZE_MAX: u32 = 36;
    const FAR: Cycles = FAR;

    fn new() -> E {
        let rings = [
            vec![0, 1, 2],
            vec![3, 4, 5],
            vec![0, 3],
            vec![1, 4],
            vec![2, 5],
        ];
        E::new(&Fabric::new(6, &rings).unwrap(), RULES).unwrap()
    }

    fn offer(engine: &mut E, time: Cycles, number: usize, offer: &Offer) {
        engine.offer(time, packet(number, offer, &route(offer)));
    }

    fn run_until(engine: &mut E, limit: Cycles, log: &mut Log<'_>) -> Ran {
        engine.run_until(limit, &mut Driver(log))
    }

    fn counted(engine: &E) -> Vec<u64> {
        let Counters {
            send_symbols,
            echo_symbols,
            sends,
            retries,
            delivered,
            dropped,
        } = engine.counters();
        [
            send_symbols,
            echo_symbols,
            sends,
            retries,
            delivered,
            dropped,
        ]
        .concat()
    }
}

#[test]
fn the_event_driven_engine_keeps_the_contract() {
    println!("{}", check::<Torus<event::Engine<usize>, { 1 << 57 }>>(500));
}

#[test]
fn the_symbol_engine_keeps_the_contract() {
    println!("{}", check::<Torus<symbol::Engine<usize>, 20_000>>(50));
}
