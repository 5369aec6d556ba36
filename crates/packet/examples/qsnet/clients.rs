//! Nodes with one message outstanding each: the next starts when the last is complete.

use isthmus_kernel::{Cycles, Engine as _, Gap, RunUntil, Stream, Streams, Uniform, unit_interval};
use isthmus_packet::ways::FatTree;
use isthmus_packet::{Delivery, Engine, Handler, Kind, Message, Offers, Rules};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::machine::SECOND;

/// How long messages are.
#[derive(Debug, Clone, Copy)]
pub enum Length {
    Fixed(u64),
    /// Exponential, with this mean.
    Exponential(f64),
}

/// One client: a node that writes to or reads from others.
#[derive(Debug, Clone)]
pub struct Client {
    pub node: u32,
    /// Where it sends to: any of these, itself left out.
    pub partners: Vec<u32>,
    pub length: Length,
    /// Which part of the messages are reads.
    pub reads: f64,
    /// Messages per second; `None`: the next when the last is complete.
    pub rate: Option<f64>,
    /// Mean seconds between a completion and the next message, without a rate; exponential.
    pub pause: f64,
    pub queue: u32,
    /// Which of the results it counts for.
    pub job: usize,
}

struct State {
    client: Client,
    stream: Stream,
    gap: Gap,
    open: bool,
    /// Messages that have come while one was under way.
    waiting: VecDeque<Message<usize>>,
    busy: bool,
}

impl State {
    fn message(&mut self, tag: usize) -> Message<usize> {
        let stream = &mut self.stream;
        let client = &self.client;
        let others: Vec<u32> = client
            .partners
            .iter()
            .copied()
            .filter(|&p| p != client.node)
            .collect();
        let to = others[Uniform::below(others.len() as u32).draw(stream) as usize];
        let bytes = match client.length {
            Length::Fixed(bytes) => bytes,
            Length::Exponential(mean) => {
                ((-mean * (1.0 - unit_interval(stream)).ln()) as u64).max(1)
            }
        };
        let read = client.reads > 0.0 && unit_interval(stream) < client.reads;
        Message {
            from: client.node,
            to,
            bytes,
            kind: if read { Kind::Read } else { Kind::Write },
            queue: client.queue,
            tag,
        }
    }
}

/// What a run shows, by job and node.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Bytes of each client, from the warm-up to the end.
    pub bytes: Vec<u64>,
    pub jobs: Vec<usize>,
    pub packets: u64,
    pub seconds: f64,
}

impl Seen {
    /// MB/s of a job.
    pub fn job(&self, job: usize) -> f64 {
        let of = self.bytes.iter().zip(&self.jobs);
        let bytes: u64 = of.filter(|&(_, &j)| j == job).map(|(&b, _)| b).sum();
        bytes as f64 / self.seconds / 1e6
    }

    /// MB/s of one client.
    pub fn client(&self, client: usize) -> f64 {
        self.bytes[client] as f64 / self.seconds / 1e6
    }
}

struct Clients {
    states: Vec<State>,
    /// Bytes of packets that have arrived.
    bytes: Vec<u64>,
    packets: u64,
}

impl Clients {
    fn complete(&mut self, tag: usize, time: Cycles, offers: &mut Offers<usize>) {
        let state = &mut self.states[tag];
        if !state.open {
            let message = state.message(tag);
            let pause = state
                .gap
                .exponential(state.client.pause * SECOND, &mut state.stream);
            offers.offer(time + pause, message);
        } else if let Some(message) = state.waiting.pop_front() {
            offers.offer(time, message);
        } else {
            state.busy = false;
        }
    }
}

impl Handler for Clients {
    type Tag = usize;

    fn delivered(&mut self, delivery: &Delivery<usize>, offers: &mut Offers<usize>) {
        self.complete(delivery.message.tag, delivery.completed, offers);
    }

    fn packet(&mut self, packet: &isthmus_packet::PacketSeen<'_, usize>) {
        self.packets += 1;
        if !packet.request {
            self.bytes[packet.tag] += u64::from(packet.payload);
        }
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
    let mut handler = Clients {
        states: Vec::new(),
        bytes: vec![0; clients.len()],
        packets: 0,
    };
    // Open loops: all arrivals are drawn beforehand and given to the client one by one.
    let end = ((warm + seconds) * SECOND) as Cycles;
    let mut arrivals: Vec<(Cycles, usize)> = Vec::new();
    for (number, client) in clients.iter().enumerate() {
        let mut state = State {
            client: client.clone(),
            stream: streams.stream("client", number as u64),
            gap: Gap::default(),
            open: client.rate.is_some(),
            waiting: VecDeque::new(),
            busy: false,
        };
        match client.rate {
            None => {
                let message = state.message(number);
                // Not all in the same tick.
                let time = (unit_interval(&mut state.stream) * 1e6) as Cycles;
                engine.offer(time, message);
            }
            Some(rate) => {
                let mut time = 0;
                loop {
                    time += state.gap.exponential(SECOND / rate, &mut state.stream);
                    if time >= end {
                        break;
                    }
                    arrivals.push((time, number));
                }
            }
        }
        handler.states.push(state);
    }
    arrivals.sort_unstable();
    let mut arrivals = arrivals.into_iter().peekable();
    let mut at = |limit: Cycles, handler: &mut Clients, engine: &mut Engine<usize, FatTree>| {
        while let Some(&(time, number)) = arrivals.peek()
            && time < limit
        {
            arrivals.next();
            engine.run_until(time, handler);
            let state = &mut handler.states[number];
            let message = state.message(number);
            if state.busy {
                state.waiting.push_back(message);
            } else {
                state.busy = true;
                engine.offer(time, message);
            }
        }
        engine.run_until(limit, handler);
    };
    at((warm * SECOND) as Cycles, &mut handler, &mut engine);
    handler.bytes.fill(0);
    handler.packets = 0;
    at(end, &mut handler, &mut engine);
    Seen {
        bytes: handler.bytes,
        jobs: clients.iter().map(|client| client.job).collect(),
        packets: handler.packets,
        seconds,
    }
}
