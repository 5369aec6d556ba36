//! What drives engine and reference with the same random rules and loads, and compares what they tell.

use super::reference::{Answers, Cases, Network, Reference, Report};
use isthmus_kernel::{Cycles, Engine as _, RunUntil, Stream, Streams, Uniform};
use isthmus_packet::routes::Routes;
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Counters, Delivery, Engine, Handler, Interface, Kind, Late,
    LinkLoad, LinkTie, Message, Offers, Outputs, PacketSeen, Rules, Switching,
};
use proptest::prelude::*;
use std::sync::Arc;

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

pub fn rules() -> impl Strategy<Value = Rules> {
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
pub struct Load {
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
    /// In sixteenths: reads, messages to node 0, generations that are answered, reads whose data are
    /// there later than their requests.
    sixteenths: [u32; 4],
    pub seed: u64,
}

pub fn load() -> impl Strategy<Value = Load> {
    (
        prop_oneof![1u32..12, 12u32..60],
        0u32..60,
        prop_oneof![Just(1u64), 2u64..40],
        prop_oneof![Just(1u64), 2u64..3000],
        prop_oneof![0u64..30, 30u64..400],
        [0u32..17, 0u32..17, 0u32..17, 0u32..17],
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

/// Generates random messages, the same for both as long as their reports agree.
struct Source {
    load: Load,
    nodes: u32,
    queues: u32,
    stream: Stream,
    left: u32,
    tag: u32,
    reports: Vec<Report>,
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
            reports: Vec::new(),
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

    /// Records a report and answers it: half of the deliveries when they are reminded of
    /// what is complete.
    fn answer(&mut self, report: &Report) -> Answers {
        self.reports.push(report.clone());
        let time = match *report {
            Report::Requested { time, .. } => {
                let later = self.chance(3).then(|| time + self.below(120));
                return Answers {
                    there: later,
                    ..Answers::default()
                };
            }
            Report::Delivered {
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
            Report::Reminded { time, .. } => time,
            Report::Generated { time, .. } if self.chance(2) => time,
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

    fn offer(&mut self, report: &Report, offers: &mut Offers<u32>) {
        let answers = self.answer(report);
        for (time, message) in answers.messages {
            offers.offer(time, message);
        }
        for (time, node, tag) in answers.reminders {
            offers.remind(time, node, tag);
        }
    }
}

impl Handler for Source {
    type Tag = u32;

    fn generated(&mut self, time: Cycles, message: &Message<u32>, offers: &mut Offers<u32>) {
        let report = Report::Generated {
            time,
            tag: message.tag,
        };
        self.offer(&report, offers);
    }

    fn read_requested(&mut self, time: Cycles, message: &Message<u32>) -> Cycles {
        let tag = message.tag;
        self.answer(&Report::Requested { time, tag })
            .there
            .unwrap_or(time)
    }

    fn delivered(&mut self, delivery: &Delivery<u32>, offers: &mut Offers<u32>) {
        let report = Report::Delivered {
            tag: delivery.message.tag,
            generated: delivery.generated,
            injected: delivery.injected,
            arrived: delivery.arrived,
            completed: delivery.completed,
            packets: delivery.packets,
        };
        self.offer(&report, offers);
    }

    fn reminded(&mut self, time: Cycles, node: u32, tag: u32, offers: &mut Offers<u32>) {
        self.offer(&Report::Reminded { time, node, tag }, offers);
    }

    fn packet(&mut self, packet: &PacketSeen<'_, u32>) {
        let report = Report::Packet {
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
        assert!(self.answer(&report).messages.is_empty());
    }
}

/// The results of a run: the reports, at the end of each part how many messages are open and under way
/// and how many packets, and what was counted after the first one.
pub type Shown = (Vec<Report>, Vec<[u64; 3]>, Counters);

pub const PARTS: u64 = 3;
pub const PART: Cycles = 1500;

pub fn by_engine<W: Routes>(routes: W, rules: Rules, load: &Load) -> Shown {
    let mut source = Source::new(routes.node_count(), &rules, load);
    let mut engine = Engine::new(Arc::new(routes), rules, load.seed).unwrap();
    for (time, message) in source.first() {
        engine.offer(time, message);
    }
    let mut parts = Vec::new();
    for part in 1..=PARTS {
        engine.run_until(part * PART, &mut source);
        assert_eq!(engine.now(), part * PART);
        parts.push([engine.open(), engine.under_way(), engine.packets()]);
        if part == 1 {
            engine.count_from_now();
        }
    }
    let shown = (source.reports.clone(), parts, engine.counted());
    // To the end: everything is delivered, and nothing twice.
    engine.run_until(Cycles::MAX, &mut source);
    assert_eq!([engine.open(), engine.packets()], [0, 0]);
    let delivered = source.reports.iter().filter_map(|report| match report {
        Report::Delivered { tag, .. } => Some(*tag),
        _ => None,
    });
    let mut delivered: Vec<u32> = delivered.collect();
    delivered.sort_unstable();
    assert!(delivered.into_iter().eq(1..=source.tag));
    shown
}

fn by_reference(network: &dyn Network, rules: Rules, load: &Load) -> (Shown, Cases) {
    let mut source = Source::new(network.nodes(), &rules, load);
    let mut reference = Reference::new(network, rules, load.seed);
    for (time, message) in source.first() {
        reference.offer(time, message);
    }
    let mut parts = Vec::new();
    for part in 1..=PARTS {
        reference.run_until(part * PART, &mut |report: &Report| source.answer(report));
        parts.push([reference.open(), reference.under_way(), reference.packets()]);
        if part == 1 {
            reference.count_from_now();
        }
    }
    ((source.reports, parts, reference.counters), reference.cases)
}

/// What both tell, if it is the same, and what the reference has met.
///
/// # Errors
/// The first difference.
pub fn both<W: Routes>(
    routes: W,
    network: &dyn Network,
    rules: Rules,
    load: &Load,
) -> Result<(Shown, Cases), TestCaseError> {
    let fast = by_engine(routes, rules, load);
    let (slow, cases) = by_reference(network, rules, load);
    let indices = 0..fast.0.len().max(slow.0.len());
    if let Some(at) = indices
        .into_iter()
        .find(|&at| fast.0.get(at) != slow.0.get(at))
    {
        return Err(TestCaseError::fail(format!(
            "report {at}: engine {:?}, reference {:?}",
            fast.0.get(at),
            slow.0.get(at)
        )));
    }
    prop_assert_eq!(&fast.1, &slow.1, "under way");
    prop_assert_eq!(&fast.2, &slow.2, "counters");
    let lanes = u64::from(network.classes() * rules.channels) * (PARTS - 1) * PART;
    prop_assert!(fast.2.held.iter().all(|&held| held <= lanes));
    Ok((fast, cases))
}
