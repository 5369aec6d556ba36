//! The engine against the tick-by-tick reference: every packet, with its times and its way, and
//! everything else that is told, in order, on random trees, rules and loads.

mod reference;

use isthmus_kernel::{Cycles, Stream, Streams, Uniform};
use isthmus_packet::ways::{FatTree, Ways};
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Counters, Delivery, Engine, Handler, Interface, Kind, Late,
    LinkLoad, LinkTie, Message, Offers, Outputs, PacketSeen, Rules, Switching,
};
use isthmus_topology::trees::{Ascent, Shape, Tree};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reference::{Answers, Cases, Network, Reference, Told};
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn shape() -> impl Strategy<Value = Shape> {
    let k_ary = (2u32..5, 1u32..4)
        .prop_filter("few nodes", |(k, n)| k.pow(*n) <= 27)
        .prop_map(|(arity, levels)| Shape::KAry { arity, levels });
    let level = || (2u32..5, 1u32..4, prop_oneof![3 => Just(1u32), 1 => Just(2)]);
    let any = (prop::collection::vec(level(), 1..4), any::<bool>()).prop_map(|(levels, one)| {
        let mut up: Vec<u32> = levels.iter().map(|level| level.1).collect();
        let mut parallel: Vec<u32> = levels.iter().map(|level| level.2).collect();
        if one {
            (up[0], parallel[0]) = (1, 1);
        }
        Shape::Generalised {
            down: levels.iter().map(|level| level.0).collect(),
            up,
            parallel,
        }
    });
    let few = |shape: &Shape| shape.check().is_ok() && shape.node_count().unwrap() <= 32;
    prop_oneof![1 => k_ary, 2 => any.prop_filter("few nodes", few)]
}

fn interface() -> impl Strategy<Value = Interface> {
    (
        1u32..4,
        0u64..20,
        prop_oneof![1u64..10, 10u64..60],
        0u64..3,
        prop_oneof![Just(0u64), 1u64..20],
        1u32..5,
        0u32..3,
        0u64..20,
    )
        .prop_map(
            |(queues, start, packet, packet_block, receive, slice, request, turnaround)| {
                Interface {
                    queues,
                    start,
                    packet,
                    packet_block,
                    receive,
                    slice,
                    request,
                    turnaround,
                }
            },
        )
}

const AGES: [AgeFrom; 4] = [
    AgeFrom::Message,
    AgeFrom::Injection,
    AgeFrom::Arrival,
    AgeFrom::Request,
];
const AGE_TIES: [AgeTie; 3] = [AgeTie::RoundRobin, AgeTie::Random, AgeTie::Lowest];
const LOADS: [LinkLoad; 2] = [LinkLoad::Room, LinkLoad::Idle];
const LINK_TIES: [LinkTie; 3] = [LinkTie::Random, LinkTie::LongestIdle, LinkTie::Lowest];

fn ascent() -> impl Strategy<Value = Ascent> {
    prop::sample::select(vec![
        Ascent::Adaptive,
        Ascent::Adaptive,
        Ascent::Destination,
        Ascent::Source,
        Ascent::Random,
    ])
}

fn rules() -> impl Strategy<Value = Rules> {
    let age = (
        prop::sample::select(AGES.to_vec()),
        prop::option::of(prop_oneof![0u64..60, 60u64..400]),
        prop::sample::select(AGE_TIES.to_vec()),
    );
    let adaptive = (
        prop::sample::select(LOADS.to_vec()),
        prop::sample::select(LINK_TIES.to_vec()),
    );
    let late = prop::option::weighted(0.3, (0u64..150, 1u64..15));
    let times = (1u64..4, 1u64..8, 0u64..9, 0u64..5);
    let lengths = (3u32..24, 1u32..8, 1u32..6);
    // In flight, or room for more than a packet in halves of one, and the way back of credits.
    let outputs = prop::option::weighted(0.6, (0u32..5, 1u32..5));
    let switching = (any::<bool>(), 1u32..6, 0u32..5, 0u64..9, outputs);
    (
        times,
        1u32..5,
        switching,
        adaptive,
        age,
        late,
        lengths,
        interface(),
    )
        .prop_map(
            |(times, channels, switching, adaptive, age, late, lengths, interface)| {
                let (payload, overhead, block) = lengths;
                let packet = payload.div_ceil(block) * block + overhead;
                Rules {
                    byte: times.0,
                    hop: times.1,
                    acknowledge: times.2,
                    acknowledge_hop: times.3,
                    channels,
                    switching: if switching.0 {
                        Switching::Circuit {
                            in_flight: switching.1,
                        }
                    } else {
                        Switching::CutThrough {
                            buffer: packet + packet * switching.2 / 2,
                            credit: switching.3,
                            outputs: switching.4.map(|(halves, speedup)| Outputs {
                                buffer: packet + packet * halves / 2,
                                speedup,
                            }),
                        }
                    },
                    adaptive: Adaptive {
                        load: adaptive.0,
                        tie: adaptive.1,
                    },
                    age: Age {
                        from: age.0,
                        saturates: age.1,
                        tie: age.2,
                    },
                    late: late.map(|(older_than, extra)| Late { older_than, extra }),
                    payload,
                    overhead,
                    block,
                    interface,
                }
            },
        )
}

/// How messages are drawn.
#[derive(Debug, Clone)]
struct Load {
    /// Messages that are offered beforehand.
    first: u32,
    /// Messages that answer deliveries (closed loop) or generations (open loop), in all.
    more: u32,
    /// Times are whole multiples of this.
    grain: u64,
    /// The last of the first is generated within so many ticks.
    window: u64,
    /// Most bytes of a message.
    bytes: u64,
    /// In sixteenths: reads, messages to node 0, generations that are answered.
    sixteenths: [u32; 3],
    seed: u64,
}

fn load() -> impl Strategy<Value = Load> {
    (
        prop_oneof![1u32..12, 12u32..60],
        0u32..60,
        prop_oneof![Just(1u64), 2u64..40],
        prop_oneof![Just(1u64), 2u64..3000],
        prop_oneof![0u64..30, 30u64..400],
        [0u32..17, 0u32..17, 0u32..17],
        any::<u64>(),
    )
        .prop_map(
            |(first, more, grain, window, bytes, sixteenths, seed)| Load {
                first,
                more,
                grain,
                window,
                bytes,
                sixteenths,
                seed,
            },
        )
}

/// Draws messages, the same for both as long as they are told the same.
struct Source {
    load: Load,
    nodes: u32,
    queues: u32,
    stream: Stream,
    left: u32,
    tag: u32,
    told: Vec<Told>,
}

impl Source {
    fn new(nodes: u32, rules: &Rules, load: &Load) -> Self {
        Self {
            nodes,
            queues: rules.interface.queues,
            stream: Streams::new(load.seed, 0).stream("messages", 0),
            left: load.more,
            tag: 0,
            load: load.clone(),
            told: Vec::new(),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        u64::from(Uniform::below(bound as u32).draw(&mut self.stream))
    }

    fn chance(&mut self, which: usize) -> bool {
        self.below(16) < u64::from(self.load.sixteenths[which])
    }

    fn message(&mut self) -> Message<u32> {
        let from = self.below(u64::from(self.nodes)) as u32;
        let mut to = if self.chance(1) {
            0
        } else {
            self.below(u64::from(self.nodes)) as u32
        };
        if to == from {
            to = (to + 1) % self.nodes;
        }
        self.tag += 1;
        Message {
            from,
            to,
            bytes: self.below(self.load.bytes + 1),
            kind: if self.chance(0) {
                Kind::Read
            } else {
                Kind::Write
            },
            queue: self.below(u64::from(self.queues)) as u32,
            tag: self.tag,
        }
    }

    fn first(&mut self) -> Vec<(Cycles, Message<u32>)> {
        let grain = self.load.grain;
        (0..self.load.first)
            .map(|_| (self.below(self.load.window) / grain * grain, self.message()))
            .collect()
    }

    /// Writes down what is told and answers it: half of the deliveries when they are reminded of
    /// what is complete.
    fn answer(&mut self, told: &Told) -> Answers {
        self.told.push(told.clone());
        let time = match *told {
            Told::Delivered {
                tag,
                completed,
                arrived,
                ..
            } => {
                if completed > arrived && self.below(2) == 0 {
                    let node = self.below(u64::from(self.nodes)) as u32;
                    return Answers {
                        reminders: vec![(completed, node, tag)],
                        ..Answers::default()
                    };
                }
                completed
            }
            Told::Reminded { time, .. } => time,
            Told::Generated { time, .. } if self.chance(2) => time,
            _ => return Answers::default(),
        };
        if self.left == 0 {
            return Answers::default();
        }
        self.left -= 1;
        let pause = self.below(3) * self.below(40);
        Answers {
            messages: vec![(time + pause, self.message())],
            ..Answers::default()
        }
    }

    fn offer(&mut self, told: &Told, offers: &mut Offers<u32>) {
        let answers = self.answer(told);
        for (time, message) in answers.messages {
            offers.send(time, message);
        }
        for (time, node, tag) in answers.reminders {
            offers.remind(time, node, tag);
        }
    }
}

impl Handler for Source {
    type Tag = u32;

    fn generated(&mut self, time: Cycles, message: &Message<u32>, offers: &mut Offers<u32>) {
        let told = Told::Generated {
            time,
            tag: message.tag,
        };
        self.offer(&told, offers);
    }

    fn delivered(&mut self, delivery: &Delivery<u32>, offers: &mut Offers<u32>) {
        let told = Told::Delivered {
            tag: delivery.message.tag,
            generated: delivery.generated,
            injected: delivery.injected,
            arrived: delivery.arrived,
            completed: delivery.completed,
            packets: delivery.packets,
        };
        self.offer(&told, offers);
    }

    fn reminded(&mut self, time: Cycles, node: u32, tag: u32, offers: &mut Offers<u32>) {
        self.offer(&Told::Reminded { time, node, tag }, offers);
    }

    fn packet(&mut self, packet: &PacketSeen<'_, u32>) {
        let told = Told::Packet {
            tag: packet.tag,
            from: packet.from,
            to: packet.to,
            request: packet.request,
            number: packet.number,
            payload: packet.payload,
            injected: packet.injected,
            arrived: packet.arrived,
            path: packet.path().collect(),
        };
        assert!(self.answer(&told).messages.is_empty());
    }
}

/// All that a run shows: what was told, at the end of each part what is under way, and what was
/// counted after the first one.
type Shown = (Vec<Told>, Vec<(usize, usize)>, Counters);

const PARTS: u64 = 3;
const PART: Cycles = 1500;

fn by_engine<W: Ways>(ways: W, rules: Rules, load: &Load) -> Shown {
    let mut source = Source::new(ways.node_count(), &rules, load);
    let mut engine = Engine::new(Arc::new(ways), rules, load.seed).unwrap();
    for (time, message) in source.first() {
        engine.send(time, message);
    }
    let mut parts = Vec::new();
    for part in 1..=PARTS {
        engine.run_until(part * PART, &mut source);
        assert_eq!(engine.now(), part * PART);
        parts.push(engine.under_way());
        if part == 1 {
            engine.count_from_now();
        }
    }
    (source.told, parts, engine.counted())
}

fn by_reference(network: &dyn Network, rules: Rules, load: &Load) -> (Shown, Cases) {
    let mut source = Source::new(network.nodes(), &rules, load);
    let mut reference = Reference::new(network, rules, load.seed);
    for (time, message) in source.first() {
        reference.send(time, message);
    }
    let mut parts = Vec::new();
    for part in 1..=PARTS {
        reference.run_until(part * PART, &mut |told: &Told| source.answer(told));
        parts.push(reference.under_way());
        if part == 1 {
            reference.count_from_now();
        }
    }
    ((source.told, parts, reference.counters), reference.cases)
}

#[test]
fn engine_and_reference_tell_the_same() {
    let cases = 250;
    let [packets, delivered, circuits, open, several, held] = [const { Cell::new(0u64) }; 6];
    let [outputs, waited, sooner, ahead, reminded] = [const { Cell::new(0u64) }; 5];
    let [age_ties, link_ties] = [const { [const { Cell::new(0u64) }; 3] }; 2];
    let behind = Cell::new(0u64);
    let add = |cell: &Cell<u64>, more: u64| cell.set(cell.get() + more);
    let spent = [const { Cell::new(Duration::ZERO) }; 2];
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    runner
        .run(
            &(shape(), ascent(), rules(), load()),
            |(shape, ascent, rules, load)| {
                let tree = Tree::new(&shape).unwrap();
                let start = Instant::now();
                let fast = by_engine(FatTree::new(&tree, ascent), rules, &load);
                let middle = Instant::now();
                let network = (tree, ascent);
                let (slow, cases) = by_reference(&network, rules, &load);
                spent[0].set(spent[0].get() + (middle - start));
                spent[1].set(spent[1].get() + middle.elapsed());
                if let Some(at) =
                    (0..fast.0.len().max(slow.0.len())).find(|&at| fast.0.get(at) != slow.0.get(at))
                {
                    let difference = format!(
                        "told as number {at}: engine {:?}, reference {:?}",
                        fast.0.get(at),
                        slow.0.get(at)
                    );
                    return Err(TestCaseError::fail(difference));
                }
                prop_assert_eq!(&fast.1, &slow.1, "under way");
                prop_assert_eq!(&fast.2, &slow.2, "counters");
                let lanes = u64::from(rules.channels) * (PARTS - 1) * PART;
                prop_assert!(fast.2.held.iter().all(|&held| held <= lanes));
                add(&held, fast.2.held.iter().sum());
                let count =
                    |of: fn(&Told) -> bool| fast.0.iter().filter(|told| of(told)).count() as u64;
                add(&packets, count(|told| matches!(told, Told::Packet { .. })));
                add(
                    &delivered,
                    count(|told| matches!(told, Told::Delivered { .. })),
                );
                let circuit = matches!(rules.switching, Switching::Circuit { .. });
                add(&circuits, u64::from(circuit));
                let buffered = matches!(
                    rules.switching,
                    Switching::CutThrough {
                        outputs: Some(_),
                        ..
                    }
                );
                add(&outputs, u64::from(buffered));
                add(&waited, cases.waited);
                add(&sooner, cases.sooner);
                add(&ahead, cases.ahead);
                add(&behind, cases.behind);
                for rule in 0..3 {
                    add(&age_ties[rule], cases.age_ties[rule]);
                    add(&link_ties[rule], cases.link_ties[rule].get());
                }
                add(
                    &reminded,
                    count(|told| matches!(told, Told::Reminded { .. })),
                );
                add(&open, u64::from(fast.1[PARTS as usize - 1].0 > 0));
                let links = network.of_node(0).len();
                add(&several, u64::from(links > 1));
                Ok(())
            },
        )
        .unwrap();
    println!(
        "{cases} random trees, rules and loads ({} of circuits, {} with several links at each \
         node): {} packets, {} messages delivered, {} runs ended with messages under way: no \
         difference",
        circuits.get(),
        several.get(),
        packets.get(),
        delivered.get(),
        open.get(),
    );
    println!(
        "{} of them with output buffers: {} packets waited there, {} left their input sooner than over a \
         link, {} crossed ahead of their tails; {} reminders",
        outputs.get(),
        waited.get(),
        sooner.get(),
        ahead.get(),
        reminded.get(),
    );
    let counts = |of: &[Cell<u64>; 3]| of.each_ref().map(Cell::get);
    println!(
        "Among packets equally old {:?} went around, by lot, and by number; of links loaded alike {:?} were \
         taken by lot, idle for longest, and by number; {} packets waited behind others while their age counted",
        counts(&age_ties),
        counts(&link_ties),
        behind.get(),
    );
    assert!(counts(&age_ties).iter().all(|&ties| ties > 50));
    assert!(counts(&link_ties).iter().all(|&ties| ties > 200) && behind.get() > 200);
    assert!(outputs.get() > 60 && waited.get() > 1_000 && sooner.get() > 1_000);
    assert!(ahead.get() > 1_000 && reminded.get() > 500);
    eprintln!(
        "engine {:?}, reference {:?}",
        spent[0].get(),
        spent[1].get()
    );
    assert!(packets.get() > 10_000 && circuits.get() > 100 && held.get() > 100_000);
}
