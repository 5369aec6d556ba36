//! The event-driven engine.
//!
//! Only headers move: where the rest of a packet is follows by arithmetic. An output link is a
//! server that finishes each packet that it has started. What passes through starts at the later of its arrival
//! and the end of what went before; an own packet starts when the link is free and nothing has
//! arrived before. So a packet costs one event for each link that it crosses, and so does its echo.
//!
//! Nodes learn of one another no sooner than one hop after something happened. The engine therefore
//! goes from node to node in windows of one hop, and within each keeps the order of the events of
//! that node alone: there is no queue of events. A window begins when something is due first. In it
//! the nodes that have something to do are served in the order of their numbers, then the outputs.
//! The headers on a link arrive in the order in which they were sent, so that each interface has a
//! list of those that it will pass on and one of those that go no further. All lists share one
//! store, whose places are used again.
//!
//! # Data
//! - When each node and each output has something to do next is one number, in an array of its own
//!   (`nodes_due`, `outputs_due`): the one thing that is asked of those that have nothing to do.
//! - Beside each array is an `Agenda`, bitmaps of who is due when. With its help a window in which
//!   little moves touches only those with work; where many have work it looks at everybody. The
//!   rule: code that changes a number of these arrays must note it there.
//! - What an event touches of an interface is one record for what comes in and one for what leaves.

mod agenda;
mod lines;
mod node;
mod output;
mod packets;
mod port;
mod queue;
mod stall;

use crate::traffic::{CLASSES, Class, Packet, REMINDER};
use crate::{
    Counters, Error, Fabric, FlowControl, Handler, InterfaceId, Offers, RingEngine, Rules, Stall,
};
use agenda::Agenda;
use isthmus_kernel::{Cycles, Id, Ran, RunUntil, Table};
use lines::{Headers, Line};
use packets::{Fifo, Origin, PacketId, Packets, Stretch};
use port::{Came, GENERATE, Input, Key, NEVER, Output, key, time_of};
use queue::{QueueId, Queues};
use std::collections::VecDeque;

/// A node's client.
#[derive(Debug, Clone)]
struct Client {
    /// Packets to be generated and when, in order of time.
    to_come: VecDeque<(Cycles, PacketId)>,
    /// Packets that wait for a slot, by class.
    waiting: [VecDeque<Waiting>; CLASSES],
}

/// A packet that waits for a slot, and where.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: PacketId,
    /// The interface that it leaves by, and the queue there.
    port: InterfaceId,
    queue: QueueId,
}

/// The event-driven engine: see the [module](self) and the rules of the crate.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    fabric: Fabric,
    rules: Rules,
    now: Cycles,
    /// For each node, a cycle before which neither an input nor the client has anything to do.
    nodes_due: Vec<Cycles>,
    /// For each client, when it generates its next packet.
    clients_due: Vec<Key>,
    /// For each input, when it has something to do.
    inputs_due: Table<InterfaceId, Key>,
    /// For each output, the first cycle in which it has something to do.
    outputs_due: Table<InterfaceId, Cycles>,
    /// Notes of both.
    nodes_agenda: Agenda,
    outputs_agenda: Agenda,
    inputs: Table<InterfaceId, Input>,
    outputs: Table<InterfaceId, Output>,
    /// What has come to each interface.
    came: Table<InterfaceId, Came>,
    queues: Queues,
    headers: Headers,
    clients: Vec<Client>,
    /// Room for the numbers of all nodes, or all outputs.
    busy: Vec<u32>,
    packets: Packets<T>,
    offers: Offers<T>,
    /// All but the symbols of links, which are counted in `outputs`.
    counters: Counters,
    /// Packets that ever entered an output queue.
    entered: u64,
    under_way: u64,
    last_delivery: Cycles,
    last_start: Cycles,
}

impl<T: Copy> Engine<T> {
    /// Idle interfaces and empty queues.
    fn interfaces(
        fabric: &Fabric,
        rules: &Rules,
    ) -> (
        Table<InterfaceId, Input>,
        Table<InterfaceId, Output>,
        Queues,
    ) {
        let (mut inputs, mut outputs, mut queues) = (Vec::new(), Vec::new(), Queues::new());
        for interface in fabric.interfaces().values() {
            let count = fabric.of_node(interface.node).len() as u32;
            inputs.push(Input {
                arrival: NEVER,
                crossbar: NEVER,
                done: 0,
                moving: Class::Request,
                line: Line::EMPTY,
                node: interface.node,
                port: interface.port as u16,
                queues: [Fifo::default(); CLASSES],
            });
            outputs.push(Output {
                pass: Cycles::MAX,
                own: Cycles::MAX,
                free: 0,
                line: Line::EMPTY,
                next: interface.next,
                queues: QueueId::new(queues.slots.values().len() as u32),
                queue_count: count * CLASSES as u32,
                turn: 0,
            });
            for _ in Class::ALL {
                for from in 0..count {
                    queues.add(if from == interface.port {
                        rules.client_slots
                    } else {
                        rules.output_slots
                    });
                }
            }
        }
        (inputs.into(), outputs.into(), queues)
    }

    /// Whether a packet is under way or to be generated.
    fn has_work(&self) -> bool {
        self.under_way > 0 || self.clients_due.iter().any(|&due| due != NEVER)
    }

    fn insert(&mut self, time: Cycles, offered: &Packet<'_, T>) {
        let &Packet {
            node,
            class,
            symbols,
            route,
            tag,
        } = offered;
        if symbols < self.rules.echo || symbols > self.rules.symbols_max {
            return self.insert_reminder(time, offered);
        }
        let origin = Origin {
            tag,
            generated: time,
            admitted: 0,
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
            at = self.fabric.interfaces()[to].node;
        }
        assert!(
            at != node,
            "a packet of node {node} has a route that is empty or leads back"
        );
        self.packets.put_on(packet, 0);
        self.will_come(node, time, packet);
    }

    /// Takes in what is no packet but a reminder.
    #[cold]
    fn insert_reminder(&mut self, time: Cycles, offered: &Packet<'_, T>) {
        let &Packet { symbols, .. } = offered;
        assert!(
            symbols == REMINDER && offered.route.is_empty(),
            "a send has {} to {} symbols, not {symbols}",
            self.rules.echo,
            self.rules.symbols_max
        );
        let origin = Origin {
            tag: offered.tag,
            generated: time,
            admitted: 0,
        };
        let reminder = (self.packets).add(offered.class, symbols as u16, 0, origin);
        self.will_come(offered.node, time, reminder);
    }

    /// The client of `node` is to generate a packet.
    #[inline(always)]
    fn will_come(&mut self, node: u32, time: Cycles, packet: PacketId) {
        let client = &mut self.clients[node as usize];
        let to_come = &mut client.to_come;
        if to_come.back().is_none_or(|&(last, _)| last <= time) {
            to_come.push_back((time, packet));
        } else {
            let place = to_come.partition_point(|&(other, _)| other <= time);
            to_come.insert(place, (time, packet));
        }
        self.clients_due[node as usize] = key(to_come[0].0, GENERATE);
        self.node_is_due(node, time);
    }

    /// An input or the client of a node has something to do at `time`.
    #[inline]
    fn node_is_due(&mut self, node: u32, time: Cycles) {
        let due = &mut self.nodes_due[node as usize];
        let before = *due;
        *due = before.min(time);
        self.nodes_agenda.note_change(node, before, *due);
    }

    /// An output has something to do at `due`.
    #[inline]
    fn output_is_due(&mut self, port: InterfaceId, due: Cycles) {
        let before = std::mem::replace(&mut self.outputs_due[port], due);
        self.outputs_agenda.note_change(port.number(), before, due);
    }

    /// Accepts the offers of a handler in answer to a report on `node` at `now`.
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

impl<T: Copy> isthmus_kernel::Engine for Engine<T> {
    type Message<'a> = Packet<'a, T>;

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

    fn under_way(&self) -> u64 {
        self.under_way
    }
}

impl<T: Copy, H: Handler<Tag = T>> RunUntil<H> for Engine<T> {
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran {
        while !handler.finished() {
            let nodes = self.nodes_agenda.first(&self.nodes_due, self.now);
            let outputs = self
                .outputs_agenda
                .first(self.outputs_due.values(), self.now);
            let begin = nodes.min(outputs);
            if begin >= limit || begin >= time_of(NEVER) {
                if limit < Cycles::MAX {
                    self.now = self.now.max(limit);
                }
                return Ran::at_limit(self.has_work(), self.under_way);
            }
            self.nodes_agenda.begin(begin, &self.nodes_due);
            self.outputs_agenda.begin(begin, self.outputs_due.values());
            let end = limit.min(begin + self.rules.hop);
            self.run_nodes(end, handler);
            self.run_outputs(end);
            self.now = end;
        }
        Ran::Finished
    }
}

impl<T: Copy> RingEngine<T> for Engine<T> {
    fn new(fabric: &Fabric, rules: Rules) -> Result<Self, Error> {
        rules.check()?;
        if rules.flow_control == FlowControl::GoBits {
            return Err(Error::GoBits);
        }
        let (inputs, outputs, queues) = Self::interfaces(fabric, &rules);
        let nodes = fabric.node_count() as usize;
        let interfaces = fabric.interfaces().values().len();
        let client = Client {
            to_come: VecDeque::new(),
            waiting: [VecDeque::new(), VecDeque::new()],
        };
        Ok(Self {
            now: 0,
            nodes_due: vec![Cycles::MAX; nodes],
            clients_due: vec![NEVER; nodes],
            inputs_due: Table::of(interfaces, NEVER),
            outputs_due: Table::of(interfaces, Cycles::MAX),
            nodes_agenda: Agenda::new(nodes, rules.hop),
            outputs_agenda: Agenda::new(interfaces, rules.hop),
            busy: vec![0; nodes.max(interfaces) + 1],
            came: Table::of(interfaces, Came::default()),
            inputs,
            outputs,
            queues,
            headers: Headers::new(),
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

    fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        let links = counters.send_symbols.iter_mut();
        for ((send, echo), out) in links
            .zip(&mut counters.echo_symbols)
            .zip(self.outputs.values())
        {
            [*send, *echo] = self.came[out.next].before(self.now);
        }
        counters
    }

    fn reset_counters(&mut self) {
        self.counters.reset();
        for came in self.came.values_mut() {
            came.restart(self.now);
        }
    }

    fn stalled(&self, limit: Cycles) -> Option<Stall> {
        self.find_stall(limit)
    }

    fn wedged(&self) -> Vec<u32> {
        self.find_wedged()
    }
}
