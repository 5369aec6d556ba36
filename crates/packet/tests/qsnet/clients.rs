//! Nodes with one message outstanding each: the next starts when the last is complete.

use isthmus_kernel::{Cycles, Engine as _, RunUntil, Streams, unit_interval};
use isthmus_packet::routes::FatTree;
use isthmus_packet::{Delivery, Engine, Handler, Kind, Message, Offers, PacketSeen, Rules};
use std::sync::Arc;

use crate::qsnet::machine::SECOND;

/// One client: a node that writes messages of one length to another.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    pub node: u32,
    pub to: u32,
    pub bytes: u64,
}

impl Client {
    fn message(&self, tag: usize) -> Message<usize> {
        Message {
            from: self.node,
            to: self.to,
            bytes: self.bytes,
            kind: Kind::Write,
            queue: 0,
            tag,
        }
    }
}

/// What a run shows.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Bytes of each client, from the warm-up to the end.
    bytes: Vec<u64>,
    seconds: f64,
}

impl Seen {
    /// MB/s of all clients.
    pub fn total(&self) -> f64 {
        self.bytes.iter().sum::<u64>() as f64 / self.seconds / 1e6
    }

    /// MB/s of one client.
    pub fn client(&self, client: usize) -> f64 {
        self.bytes[client] as f64 / self.seconds / 1e6
    }
}

struct Clients<'c> {
    clients: &'c [Client],
    /// Bytes of packets that have arrived.
    bytes: Vec<u64>,
}

impl Handler for Clients<'_> {
    type Tag = usize;

    fn delivered(&mut self, delivery: &Delivery<usize>, offers: &mut Offers<usize>) {
        let tag = delivery.message.tag;
        offers.offer(delivery.completed, self.clients[tag].message(tag));
    }

    fn packet(&mut self, packet: &PacketSeen<'_, usize>) {
        self.bytes[packet.tag] += u64::from(packet.payload);
    }
}

/// Runs clients for `seconds` after a warm-up of `warm` seconds.
pub fn run(
    tree: &Arc<FatTree>,
    rules: Rules,
    clients: &[Client],
    warm: f64,
    seconds: f64,
    seed: u64,
) -> Seen {
    let streams = Streams::new(seed, 0);
    let mut engine =
        Engine::new(Arc::clone(tree), rules, seed).expect("rules that can be followed");
    for (number, client) in clients.iter().enumerate() {
        // Not all in the same tick.
        let mut stream = streams.stream("client", number as u64);
        let time = (unit_interval(&mut stream) * 1e6) as Cycles;
        engine.offer(time, client.message(number));
    }
    let mut handler = Clients {
        clients,
        bytes: vec![0; clients.len()],
    };
    engine.run_until((warm * SECOND) as Cycles, &mut handler);
    handler.bytes.fill(0);
    engine.run_until(((warm + seconds) * SECOND) as Cycles, &mut handler);
    Seen {
        bytes: handler.bytes,
        seconds,
    }
}
