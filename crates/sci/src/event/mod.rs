//! The event-driven engine.
//!
//! Only headers move: where the rest of a packet is follows by arithmetic. An output link is a
//! server that finishes what it has begun. What passes through starts at the later of its arrival
//! and the end of what went before; an own packet starts when the link is free and nothing has
//! arrived before. So a packet costs one event for each link that it crosses, and so does its echo.
//!
//! Nodes hear of one another no sooner than one hop after something happened. The engine therefore
//! goes from node to node in windows of one hop, and within each keeps the order of the events of
//! that node alone: there is no event queue. The headers on a link arrive in the order in which
//! they were sent, and wait in a circular buffer.

mod node;
mod output;
mod packets;
mod port;
mod stall;

use crate::traffic::{CLASSES, Class, Packet};
use crate::{Counters, Error, Fabric, FlowControl, Handler, Offers, Rules, Stall};
use isthmus_kernel::Cycles;
use packets::{Fifo, Origin, Packets, Stretch};
use port::{Circle, Coming, GENERATE, Key, NEVER, Passing, Port, Queue, key};
use std::collections::VecDeque;

/// A node's client.
#[derive(Debug, Clone)]
struct Client {
    /// When it generates its next packet.
    key: Key,
    /// Packets to be generated and when, in order of time.
    to_come: VecDeque<(Cycles, u32)>,
    /// Packets that wait for a slot, by class.
    waiting: [Fifo; CLASSES],
}

/// The event-driven engine: see the [module](self) and the rules of the crate.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    fabric: Fabric,
    rules: Rules,
    now: Cycles,
    /// For each node, a cycle before which nothing happens there.
    next: Vec<Cycles>,
    ports: Vec<Port>,
    queues: Vec<Queue>,
    clients: Vec<Client>,
    /// What comes to each interface to be passed on, a circle for each.
    passing: Vec<Passing>,
    /// What comes to each interface and goes no further, a circle for each.
    coming: Vec<Coming>,
    /// Places of a circle, less one, and their number as a power of two.
    mask: u32,
    shift: u32,
    packets: Packets<T>,
    offers: Offers<T>,
    counters: Counters,
    /// Packets that ever entered an output queue.
    entered: u64,
    under_way: u64,
    last_delivery: Cycles,
    last_start: Cycles,
}

impl<T: Copy> Engine<T> {
    fn ports(fabric: &Fabric, rules: &Rules) -> (Vec<Port>, Vec<Queue>) {
        let mut queues = Vec::new();
        let mut ports = Vec::new();
        for interface in fabric.interfaces() {
            let count = fabric.of_node(interface.node).len() as u32;
            ports.push(Port {
                key: NEVER,
                arrival: NEVER,
                crossbar: NEVER,
                pass: Cycles::MAX,
                own: Cycles::MAX,
                free: 0,
                done: 0,
                moving: 0,
                passing: Circle::default(),
                coming: Circle::default(),
                next: interface.next,
                next_node: fabric.interfaces()[interface.next as usize].node,
                waiting: 0,
                turn: 0,
                queues: queues.len() as u32,
                queue_count: count * CLASSES as u32,
                ports: count,
                port: interface.port,
                node: interface.node,
                inputs: [Fifo::default(); CLASSES],
            });
            for _ in Class::ALL {
                for from in 0..count {
                    queues.push(Queue::new(if from == interface.port {
                        rules.client_slots
                    } else {
                        rules.output_slots
                    }));
                }
            }
        }
        (ports, queues)
    }

    fn insert(&mut self, time: Cycles, offered: &Packet<'_, T>) {
        let &Packet {
            node,
            class,
            symbols,
            route,
            tag,
        } = offered;
        assert!(
            symbols >= self.rules.echo && symbols <= self.rules.symbols_max,
            "a send has {} to {} symbols, not {symbols}",
            self.rules.echo,
            self.rules.symbols_max
        );
        let origin = Origin {
            tag,
            generated: time,
            admitted: 0,
            sent: Cycles::MAX,
        };
        let packet = self.packets.add(class, symbols as u16, route.len(), origin);
        let mut at = node;
        let mut ring = u32::MAX;
        let stretches = self.packets.route_mut(packet);
        for (stretch, &segment) in stretches.iter_mut().zip(route) {
            let ends = self.fabric.stretch(at, segment);
            let (from, to) = match ends {
                Ok(ends) if segment.ring != ring => ends,
                _ => panic!("{}", Error::Route { node: at, segment }),
            };
            let around = self.fabric.of_ring(segment.ring).len() as u32;
            *stretch = Stretch {
                port: from,
                hops: segment.hops as u16,
                back: (around - segment.hops) as u16,
            };
            ring = segment.ring;
            at = self.fabric.interfaces()[to as usize].node;
        }
        assert!(
            at != node,
            "a packet of node {node} has a route that is empty or leads back"
        );
        let client = &mut self.clients[node as usize];
        let to_come = &mut client.to_come;
        if to_come.back().is_none_or(|&(last, _)| last <= time) {
            to_come.push_back((time, packet));
        } else {
            let place = to_come.partition_point(|&(other, _)| other <= time);
            to_come.insert(place, (time, packet));
        }
        client.key = key(to_come[0].0, GENERATE);
        let next = &mut self.next[node as usize];
        *next = (*next).min(time);
    }

    /// Takes over what a handler has offered when told about `node` at `now`.
    #[inline]
    fn take_offers(&mut self, node: u32, now: Cycles) {
        if !self.offers.packets.is_empty() {
            self.take_all_offers(node, now);
        }
    }

    fn take_all_offers(&mut self, node: u32, now: Cycles) {
        let offers = std::mem::take(&mut self.offers);
        for (time, packet) in offers.iter() {
            offers.check(node, now, time, &packet);
            self.insert(time, &packet);
        }
        self.offers = offers;
        self.offers.clear();
    }
}

impl<T: Copy> crate::Engine<T> for Engine<T> {
    fn new(fabric: &Fabric, rules: Rules) -> Result<Self, Error> {
        rules.check()?;
        if rules.flow_control == FlowControl::GoBits {
            return Err(Error::GoBits);
        }
        // A link is filled by its sender before its receiver empties it, by a window and by what
        // the sender's bypass FIFO holds at most, the packet before that included; each entry
        // takes the time of an echo at least.
        let ahead = 2 * rules.hop + 2 * (u64::from(rules.symbols_max) + 1);
        let room = ahead / (u64::from(rules.echo) + 1) + 3;
        let room = room.next_power_of_two() as usize;
        let (ports, queues) = Self::ports(fabric, &rules);
        let nodes = fabric.node_count() as usize;
        let client = Client {
            key: NEVER,
            to_come: VecDeque::new(),
            waiting: [Fifo::default(); CLASSES],
        };
        Ok(Self {
            now: 0,
            next: vec![Cycles::MAX; nodes],
            passing: vec![Passing::default(); ports.len() * room],
            coming: vec![Coming::default(); ports.len() * room],
            mask: room as u32 - 1,
            shift: room.trailing_zeros(),
            ports,
            queues,
            clients: vec![client; nodes],
            packets: Packets::new(),
            offers: Offers::default(),
            counters: Counters::new(fabric),
            entered: 0,
            under_way: 0,
            last_delivery: 0,
            last_start: 0,
            fabric: fabric.clone(),
            rules,
        })
    }

    fn clear(&mut self) {
        (self.ports, self.queues) = Self::ports(&self.fabric, &self.rules);
        self.now = 0;
        self.next.fill(Cycles::MAX);
        for client in &mut self.clients {
            client.key = NEVER;
            client.to_come.clear();
            client.waiting = [Fifo::default(); CLASSES];
        }
        self.packets.clear();
        self.counters.reset();
        self.entered = 0;
        self.under_way = 0;
        self.last_delivery = 0;
        self.last_start = 0;
    }

    fn now(&self) -> Cycles {
        self.now
    }

    fn offer(&mut self, time: Cycles, packet: Packet<'_, T>) {
        assert!(
            time >= self.now,
            "a packet was offered for cycle {time}, now is {}",
            self.now
        );
        self.insert(time, &packet);
    }

    fn run_until<H: Handler<Tag = T>>(&mut self, limit: Cycles, handler: &mut H) {
        while !handler.finished() {
            let begin = self.next.iter().copied().min().unwrap_or(Cycles::MAX);
            if begin >= limit {
                self.now = self.now.max(limit);
                return;
            }
            let end = limit.min(begin + self.rules.hop);
            for node in 0..self.next.len() {
                if self.next[node] < end {
                    self.run_node(node, end, handler);
                }
            }
            self.now = end;
        }
    }

    fn under_way(&self) -> u64 {
        self.under_way
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    fn stalled(&self, limit: Cycles) -> Option<Stall> {
        self.find_stall(limit)
    }

    fn wedged(&self) -> Vec<u32> {
        self.waiting().wedged(&self.fabric)
    }
}
