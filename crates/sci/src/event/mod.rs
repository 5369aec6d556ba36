//! The event-driven engine for SCI rings.
//!
//! Only headers move; the rest of a packet follows by arithmetic. An output link is a server that
//! finishes each packet that it has started. A forwarded packet starts at the later of its arrival
//! and the end of the previous packet. An own packet starts when the link is free and no header has
//! arrived before. So a packet costs one event for each link that it crosses, and so does its echo.
//!
//! A node cannot affect another one sooner than one hop later. Therefore the engine goes from node
//! to node in windows of one hop. Within a window it keeps the order of the events of each node
//! alone, and needs no queue of events. A window starts with the first event that is due. In it the
//! engine first serves the nodes with events in the order of their numbers, then the outputs. The
//! headers on a link arrive in the order in which they were sent. So each interface has a list of
//! headers that it will forward and one of headers that end there. All lists share one slab.
//!
//! # Data
//! - The time of the next event of each node and each output is one number, in an array of its own
//!   (`nodes_due`, `outputs_due`). For idle ones the engine reads nothing else.
//! - Beside each array is an `Agenda`, with bitmaps of the due numbers by time. With its help a
//!   window with few events touches only the nodes that have events; with many events the engine
//!   scans all. Invariant: code that changes a number of these arrays must report it to the agenda.
//! - An event touches one record of an interface for incoming packets and one for outgoing ones.

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
use packets::{Fifo, Origin, PacketId, Packets, RouteSegment};
use port::{GENERATE, Input, Key, NEVER, Output, Received, key, time_of};
use queue::{QueueId, Queues};
use std::collections::VecDeque;

/// Packets of a node's client (its traffic source) that are not in an output queue yet.
#[derive(Debug, Clone)]
struct Client {
    /// Packets to be generated, with their times of generation, in order of time.
    scheduled: VecDeque<(Cycles, PacketId)>,
    /// Packets that wait for a slot of their output queue, by class.
    waiting: [VecDeque<Waiting>; CLASSES],
}

/// A packet of a node's client that waits for a slot of its output queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: PacketId,
    /// The interface by which the packet leaves its node, and the output queue of that interface.
    port: InterfaceId,
    queue: QueueId,
}

/// The event-driven engine: see the [module](self) and the rules of the crate.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    fabric: Fabric,
    rules: Rules,
    now: Cycles,
    /// For each node, a lower bound of the time of the next event of its inputs and its client.
    nodes_due: Vec<Cycles>,
    /// For each client (the traffic source of a node), the time at which it generates its next
    /// packet.
    clients_due: Vec<Key>,
    /// For each input (the node side of an interface), the time of its next event.
    inputs_due: Table<InterfaceId, Key>,
    /// For each output (the ring side of an interface), the time of its next event.
    outputs_due: Table<InterfaceId, Cycles>,
    /// Agendas (indices by time) of the times in `nodes_due` and in `outputs_due`.
    nodes_agenda: Agenda,
    outputs_agenda: Agenda,
    inputs: Table<InterfaceId, Input>,
    outputs: Table<InterfaceId, Output>,
    /// For each interface, the numbers of symbols that it has received.
    received: Table<InterfaceId, Received>,
    queues: Queues,
    headers: Headers,
    clients: Vec<Client>,
    /// Buffer for the numbers of the nodes or outputs that have an event in the present time
    /// window.
    busy: Vec<u32>,
    packets: Packets<T>,
    offers: Offers<T>,
    /// Counters of packets. The symbols on links are counted in `received` instead.
    counters: Counters,
    /// Number of times that a packet entered an output queue so far; it gives packets their age.
    entry_count: u64,
    under_way: u64,
    last_delivery: Cycles,
    last_start: Cycles,
}

impl<T: Copy> Engine<T> {
    /// Return the initial state of the interfaces, all idle, and of the queues, all empty.
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
            let count = fabric.node_interfaces(interface.node).len() as u32;
            inputs.push(Input {
                arrival: NEVER,
                crossbar: NEVER,
                crossbar_free: 0,
                transfer_class: Class::Request,
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

    /// Return whether a packet is in flight or to be generated.
    fn has_work(&self) -> bool {
        self.under_way > 0 || self.clients_due.iter().any(|&due| due != NEVER)
    }

    /// Accept a packet that the handler offered, and schedule its generation at `time`.
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
        let segments = self.packets.route_mut(packet);
        for (resolved, &segment) in segments.iter_mut().zip(route) {
            let ends = self.fabric.segment_ends(at, segment);
            let (from, to) = match ends {
                Ok(ends) if segment.ring != ring => ends,
                _ => panic!("{}", Error::Route { node: at, segment }),
            };
            let around = self.fabric.ring_interfaces(segment.ring).len() as u32;
            *resolved = RouteSegment {
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
        self.packets.set_segment(packet, 0);
        self.schedule(node, time, packet);
    }

    /// Accept a reminder (a timer of the handler), which the handler offers as a packet without
    /// symbols.
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
        self.schedule(offered.node, time, reminder);
    }

    /// Schedule the generation of a packet by the client of `node` at `time`.
    #[inline(always)]
    fn schedule(&mut self, node: u32, time: Cycles, packet: PacketId) {
        let client = &mut self.clients[node as usize];
        let scheduled = &mut client.scheduled;
        if scheduled.back().is_none_or(|&(last, _)| last <= time) {
            scheduled.push_back((time, packet));
        } else {
            let index = scheduled.partition_point(|&(other, _)| other <= time);
            scheduled.insert(index, (time, packet));
        }
        self.clients_due[node as usize] = key(scheduled[0].0, GENERATE);
        self.schedule_node(node, time);
    }

    /// Schedule an event of an input or of the client (the traffic source) of a node at `time`.
    #[inline]
    fn schedule_node(&mut self, node: u32, time: Cycles) {
        let due = &mut self.nodes_due[node as usize];
        let before = *due;
        *due = before.min(time);
        self.nodes_agenda.change_due(node, before, *due);
    }

    /// Schedule the next event of an output (the ring side of an interface) at `due`.
    #[inline]
    fn schedule_output(&mut self, port: InterfaceId, due: Cycles) {
        let before = std::mem::replace(&mut self.outputs_due[port], due);
        self.outputs_agenda.change_due(port.number(), before, due);
    }

    /// Accept the packets and reminders (timers) that the handler offered in answer to a report on
    /// `node` at `now`.
    #[inline]
    fn take_offers(&mut self, node: u32, now: Cycles) {
        if !self.offers.packets.is_empty() {
            self.take_all_offers(node, now);
        }
    }

    /// Accept all packets and reminders that the handler has offered; see [`Engine::take_offers`].
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
    /// A message of this engine is one packet.
    type Message<'a> = Packet<'a, T>;

    /// Return the present time.
    fn now(&self) -> Cycles {
        self.now
    }

    /// Add a packet that its node generates at `time`. Panics if `time` is in the past.
    fn offer(&mut self, time: Cycles, packet: Packet<'_, T>) {
        assert!(
            time >= self.now,
            "a packet was offered for cycle {time}, now is {}",
            self.now
        );
        self.insert(time, &packet);
    }

    /// Return the number of packets that have neither arrived nor been abandoned.
    fn under_way(&self) -> u64 {
        self.under_way
    }
}

impl<T: Copy, H: Handler<Tag = T>> RunUntil<H> for Engine<T> {
    /// Serve the events before time `limit`, or until the handler has finished.
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
    /// Create the engine at cycle 0. Fails if the rules are invalid, or need flow control with go
    /// bits, which this engine does not simulate.
    fn new(fabric: &Fabric, rules: Rules) -> Result<Self, Error> {
        rules.check()?;
        if rules.flow_control == FlowControl::GoBits {
            return Err(Error::GoBits);
        }
        let (inputs, outputs, queues) = Self::interfaces(fabric, &rules);
        let nodes = fabric.node_count() as usize;
        let interfaces = fabric.interfaces().values().len();
        let client = Client {
            scheduled: VecDeque::new(),
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
            received: Table::of(interfaces, Received::default()),
            inputs,
            outputs,
            queues,
            headers: Headers::new(),
            clients: vec![client; nodes],
            packets: Packets::new(),
            offers: Offers::default(),
            counters: Counters::new(fabric),
            entry_count: 0,
            under_way: 0,
            last_delivery: 0,
            last_start: 0,
            fabric: fabric.clone(),
            rules,
        })
    }

    /// Return the counts of packets and symbols since the last reset.
    fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        let links = counters.send_symbols.iter_mut();
        for ((send, echo), out) in links
            .zip(&mut counters.echo_symbols)
            .zip(self.outputs.values())
        {
            [*send, *echo] = self.received[out.next].symbols_before(self.now);
        }
        counters
    }

    /// Set all counters of packets and symbols to 0.
    fn reset_counters(&mut self) {
        self.counters.reset();
        for received in self.received.values_mut() {
            received.restart(self.now);
        }
    }

    /// Return the stall if packets wait and none has been delivered for `limit` cycles.
    fn stalled(&self, limit: Cycles) -> Option<Stall> {
        self.find_stall(limit)
    }

    /// Return the nodes whose full queues wait for one another and can never move again.
    fn wedged(&self) -> Vec<u32> {
        self.wedged_nodes()
    }
}
