//! What a dragonfly of 72 nodes can carry: limits that follow from its shape alone (Kim, Dally, Scott
//! and Abts, ISCA 2008, section 4.1).

use isthmus_kernel::{Cycles, Engine as _, RunUntil, Stream, Streams, Uniform};
use isthmus_packet::routes::{Dragonfly, Routing};
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Delivery, Engine, Handler, Interface, Kind, Message, Offers,
    Rules, Switching,
};
use isthmus_topology as topology;
use std::sync::Arc;

/// Nodes to a router, routers to a group, global links to a router.
const NODES: u32 = 2;
const ROUTERS: u32 = 4;
const GLOBAL: u32 = 2;
const GROUPS: u32 = ROUTERS * GLOBAL + 1;
const ALL: u32 = NODES * ROUTERS * GROUPS;
/// Ticks along a global link.
const FAR: Cycles = 100;
/// Ticks of a packet on a link.
const PACKET: u64 = 20;

/// Packets of 20 bytes, a byte a tick, and buffers that hold more than the round trip of a link.
fn rules() -> Rules {
    Rules {
        byte: 1,
        hop: 1,
        acknowledge: 0,
        acknowledge_hop: 0,
        channels: 4,
        switching: Switching::CutThrough {
            buffer: 480,
            credit: 1,
            outputs: None,
        },
        adaptive: Adaptive::default(),
        age: Age {
            from: AgeFrom::Injection,
            saturates: None,
            tie: AgeTie::RoundRobin,
        },
        late: None,
        payload: 18,
        overhead: 2,
        block: 1,
        interface: Interface {
            queues: 1,
            start: 0,
            packet: 1,
            packet_block: 0,
            receive: 0,
            slice: 1,
            request: 0,
            turnaround: 0,
        },
    }
}

/// Nodes that offer packets, one after another with random gaps.
struct Sources {
    stream: Stream,
    /// The mean of the gaps.
    gap: u32,
    /// Whether all go to the next group.
    worst: bool,
}

impl Sources {
    fn next(&mut self, after: Cycles, from: u32) -> (Cycles, Message<()>) {
        let below = |bound: u32, stream: &mut Stream| Uniform::below(bound).draw(stream);
        let group = NODES * ROUTERS;
        let to = if self.worst {
            (from / group + 1) % GROUPS * group + below(group, &mut self.stream)
        } else {
            (from + 1 + below(ALL - 1, &mut self.stream)) % ALL
        };
        let time = after + Cycles::from(below(2 * self.gap + 1, &mut self.stream));
        let message = Message {
            from,
            to,
            bytes: 18,
            kind: Kind::Write,
            queue: 0,
            tag: (),
        };
        (time, message)
    }
}

impl Handler for Sources {
    type Tag = ();

    fn generated(&mut self, time: Cycles, message: &Message<()>, offers: &mut Offers<()>) {
        let (time, message) = self.next(time, message.from);
        offers.offer(time, message);
    }

    fn delivered(&mut self, _: &Delivery<()>, _: &mut Offers<()>) {}
}

/// Accepted load of a node, as a share of a link, where packets come every `gap` ticks.
fn accepted(routing: Routing, worst: bool, gap: u32) -> f64 {
    let shape = topology::Dragonfly::new(NODES, ROUTERS, GROUPS, 1).unwrap();
    assert_eq!(shape.node_count(), 72);
    let routes = Dragonfly::new(&shape, routing, 1, FAR);
    let mut engine = Engine::new(Arc::new(routes), rules(), 1).unwrap();
    let mut sources = Sources {
        stream: Streams::new(1, 0).stream("packets", 0),
        gap,
        worst,
    };
    for node in 0..ALL {
        let (time, message) = sources.next(0, node);
        engine.offer(time, message);
    }
    engine.run_until(20_000, &mut sources);
    engine.count_from_now();
    let ticks = 40_000;
    engine.run_until(20_000 + ticks, &mut sources);
    let received: u64 = engine.counted().received.iter().sum();
    (received * PACKET) as f64 / f64::from(ALL) / ticks as f64
}

#[test]
fn the_one_link_to_the_next_group_carries_what_it_can() {
    let limit = 1.0 / f64::from(ROUTERS * NODES);
    // Offered 0.2 and 1 of a link.
    for gap in [100, 20] {
        let share = accepted(Routing::Minimal, true, gap);
        println!("minimal, worst case: {share:.4} of {limit}");
        assert!(share <= limit * 1.001 && share > limit * 0.995, "{share}");
    }
    let share = accepted(Routing::Minimal, true, 200);
    assert!((share - 0.1).abs() < 0.002, "{share}");
}

/// The third group is neither that of the source nor the next, so that no global link to the next group
/// carries any of it. Each other link carries a seventh of what the nodes of its group send, to their third
/// group, and a seventh of what those of another group send, from its third group: 16/7 of the share of a node may not
/// be more than 1. With UGAL the direct link carries 1 on top of that, an eighth for each node.
#[test]
fn a_third_group_carries_what_the_other_links_leave() {
    let others = f64::from(GROUPS - 2);
    let around = others / f64::from(2 * NODES * ROUTERS);
    let both = around + 1.0 / f64::from(NODES * ROUTERS);
    for (routing, limit) in [(Routing::Valiant, around), (Routing::Ugal, both)] {
        let share = accepted(routing, true, 20);
        println!("{routing:?}, worst case: {share:.4} of {limit:.4}");
        assert!(
            share <= limit && share > 0.85 * limit,
            "{routing:?}: {share}"
        );
    }
}

#[test]
fn uniform_traffic_is_carried() {
    // By a third group every packet crosses two global links, of which there is one for each node.
    for (routing, gap, load) in [
        (Routing::Minimal, 25, 0.8),
        (Routing::Ugal, 25, 0.8),
        (Routing::Valiant, 50, 0.4),
    ] {
        let share = accepted(routing, false, gap);
        println!("{routing:?}, uniform {load}: {share:.4}");
        assert!((share - load).abs() < 0.01, "{routing:?}: {share}");
    }
}
