//! Uniform traffic on a dragonfly, whose nodes send single packets with random gaps.

use crate::clock::{Spread, timed};
use isthmus_kernel::{Cycles, Engine as _, RunUntil, Stream, Streams, Uniform};
use isthmus_packet::routes::{Dragonfly, Routing};
use isthmus_packet::{
    Adaptive, Age, AgeFrom, AgeTie, Delivery, Engine, Handler, Interface, Kind, Message, Offers,
    Rules, Switching,
};
use isthmus_topology as topology;
use serde::Serialize;
use std::sync::Arc;

/// Ticks of a packet on a link, which carries a flit in each.
const PACKET: u32 = 160;
/// Ticks along a link within a group, and along one between groups.
const LENGTHS: [Cycles; 2] = [10, 100];

values! {
    /// What to run.
    #[derive(Debug, Clone, Copy)]
    Load {
        /// Nodes and global links of a router; it has twice as many to a group, and there are as many
        /// groups as that allows.
        radix: u32 = 4,
        /// Offered load as a share of a link.
        offered: f64 = 0.6,
        /// 1 if packets may go by a third group (UGAL).
        adaptive: u8 = 0,
        /// Ticks of a run, all measured.
        ticks: u64 = 100_000,
        /// Runs, each with streams of its own.
        runs: u64 = 3,
    }
}

/// What it took.
#[derive(Debug, Serialize)]
pub struct Report {
    nodes: u32,
    /// Packets that arrived in all runs.
    packets: u64,
    packets_per_s: f64,
    /// CPU seconds of one run, set-up of the network not included.
    run_s: Spread,
    /// Accepted load as a share of a link.
    accepted: f64,
}

/// A packet of 160 flits, a flit a tick; three channels to a class, room for four packets behind each.
fn rules() -> Rules {
    Rules {
        byte: 1,
        hop: 1,
        acknowledge: 0,
        acknowledge_hop: 0,
        channels: 3,
        switching: Switching::CutThrough {
            buffer: 4 * PACKET,
            credit: 1,
            outputs: None,
        },
        adaptive: Adaptive::default(),
        age: Age {
            from: AgeFrom::Request,
            saturates: None,
            tie: AgeTie::RoundRobin,
        },
        late: None,
        payload: PACKET - 1,
        overhead: 1,
        block: 1,
        interface: Interface {
            queues: 1,
            start: 0,
            packet: PACKET.into(),
            packet_block: 0,
            receive: 0,
            slice: 1,
            request: 0,
            turnaround: 0,
        },
    }
}

struct Sources {
    stream: Stream,
    nodes: u32,
    /// Gaps are drawn below this.
    gaps: u32,
    packets: u64,
}

impl Sources {
    fn next(&mut self, after: Cycles, from: u32) -> (Cycles, Message<()>) {
        let other = Uniform::below(self.nodes - 1).draw(&mut self.stream);
        let gap = Uniform::below(self.gaps).draw(&mut self.stream);
        let message = Message {
            from,
            to: (from + 1 + other) % self.nodes,
            bytes: (PACKET - 1).into(),
            kind: Kind::Write,
            queue: 0,
            tag: (),
        };
        (after + Cycles::from(gap), message)
    }
}

impl Handler for Sources {
    type Tag = ();

    fn generated(&mut self, time: Cycles, message: &Message<()>, offers: &mut Offers<()>) {
        let (time, message) = self.next(time, message.from);
        offers.offer(time, message);
    }

    fn delivered(&mut self, _: &Delivery<()>, _: &mut Offers<()>) {
        self.packets += 1;
    }
}

/// Runs them one after another.
pub fn run(load: Load) -> Report {
    let routers = 2 * load.radix;
    let groups = routers * load.radix + 1;
    let shape = topology::Dragonfly::new(load.radix, routers, groups, 1).expect("a dragonfly");
    let routing = match load.adaptive {
        0 => Routing::Minimal,
        _ => Routing::Ugal,
    };
    let routes = Arc::new(Dragonfly::new(&shape, routing, LENGTHS[0], LENGTHS[1]));
    let nodes = shape.node_count();
    let (mut packets, mut times) = (0, Vec::new());
    for replication in 0..load.runs {
        let engine = Engine::new(Arc::clone(&routes), rules(), replication);
        let mut engine = engine.expect("rules that can be followed");
        let mut sources = Sources {
            stream: Streams::new(1, replication).stream("packets", 0),
            nodes,
            gaps: (2.0 * f64::from(PACKET) / load.offered).round() as u32 + 1,
            packets: 0,
        };
        for node in 0..nodes {
            let (time, message) = sources.next(0, node);
            engine.offer(time, message);
        }
        let (_, run_s) = timed(|| engine.run_until(load.ticks, &mut sources));
        packets += sources.packets;
        times.push(run_s);
    }
    let ticks = load.runs as f64 * load.ticks as f64;
    Report {
        nodes,
        packets,
        packets_per_s: packets as f64 / times.iter().sum::<f64>(),
        run_s: Spread::of(times),
        accepted: packets as f64 * f64::from(PACKET) / ticks / f64::from(nodes),
    }
}
