//! What happens at one node.

use super::lines::{Header, Kind};
use super::packets::PacketId;
use super::port::{ARRIVE, GENERATE, Key, NEVER, TRANSFER, key, phase_of, time_of};
use super::queue::QueueId;
use super::{Engine, Waiting};
use crate::traffic::{Class, Delivery, Dropped, REMINDER};
use crate::{Handler, InterfaceId, Source};
use isthmus_kernel::{Cycles, Id};

impl<T: Copy> Engine<T> {
    /// Serves what is due at any node before `end`. Outputs follow later: what enters their queues
    /// says itself from when on it may leave.
    pub(super) fn run_nodes<H: Handler<Tag = T>>(&mut self, end: Cycles, handler: &mut H) {
        let mut busy = std::mem::take(&mut self.busy);
        let count = self.nodes_agenda.collect(&self.nodes_due, end, &mut busy);
        for &node in &busy[..count] {
            self.run_node(node as usize, end, handler);
        }
        self.busy = busy;
    }

    /// Serves what is due at `node` before `end`: arrivals, the client and the crossbars, in order
    /// of time.
    #[inline]
    fn run_node<H: Handler<Tag = T>>(&mut self, node: usize, end: Cycles, handler: &mut H) {
        let range = self.fabric.of_node(node as u32);
        loop {
            let (first, port) = first_due(&self.inputs_due.values()[range.clone()]);
            let port = InterfaceId::new((range.start + port) as u32);
            let client = self.clients_due[node];
            let due = time_of(first.min(client));
            if due >= end {
                self.nodes_due[node] = due;
                return self.nodes_agenda.note(node as u32, due);
            }
            if client < first {
                self.generate(node, due, handler);
            } else if phase_of(first) == ARRIVE {
                self.arrive(port, due, handler);
            } else {
                self.transfer(port, due);
            }
        }
    }

    /// A client generates its next packet.
    fn generate<H: Handler<Tag = T>>(&mut self, node: usize, now: Cycles, handler: &mut H) {
        let client = &mut self.clients[node];
        let (_, packet) = client.to_come.pop_front().expect("a packet is to come");
        self.clients_due[node] = match client.to_come.front() {
            Some(&(time, _)) => key(time, GENERATE),
            None => NEVER,
        };
        let tag = self.packets.origins[packet].tag;
        let class = self.packets.flights[packet].class;
        if H::REMINDED && u32::from(self.packets.flights[packet].symbols) == REMINDER {
            self.packets.remove(packet);
            handler.reminded(node as u32, now, tag, &mut self.offers);
            return self.take_offers(node as u32, now);
        }
        self.under_way += 1;
        handler.generated(node as u32, now, tag, &mut self.offers);
        let queue = self.queue_for(packet, None);
        let wait = Waiting {
            packet,
            port: self.packets.flights[packet].on.port,
            queue,
        };
        let waiting = &mut self.clients[node].waiting[class.number()];
        if !self.queues.slots[queue].is_full() && waiting.is_empty() {
            self.admit(wait, now);
        } else if self.rules.source == Source::Unbounded {
            waiting.push_back(wait);
        } else {
            self.packets.remove(packet);
            self.under_way -= 1;
            self.counters.dropped[node] += 1;
            let dropped = Dropped {
                tag,
                node: node as u32,
                time: now,
            };
            handler.dropped(&dropped, &mut self.offers);
        }
        self.take_offers(node as u32, now);
    }

    /// The output queue for the present stretch of a packet that comes in by interface number
    /// `from` of its node, or from the client.
    #[inline]
    pub(super) fn queue_for(&self, packet: PacketId, from: Option<u32>) -> QueueId {
        let flight = &self.packets.flights[packet];
        let port = flight.on.port;
        let from = from.unwrap_or(u32::from(self.inputs[port].port));
        self.outputs[port].queue(flight.class.number(), from)
    }

    /// A packet of the client gets a slot.
    #[inline]
    fn admit(&mut self, wait: Waiting, now: Cycles) {
        self.packets.origins[wait.packet].admitted = now;
        self.enter(wait, wait.port, now);
    }

    /// A packet that came `from` an interface, or to that of the queue itself from the client, takes
    /// a slot of an output queue, from where it may leave at `ready`.
    #[inline]
    fn enter(&mut self, wait: Waiting, from: InterfaceId, ready: Cycles) {
        let flight = &mut self.packets.flights[wait.packet];
        flight.queue = wait.queue;
        flight.from = from;
        flight.ready = ready;
        flight.age = self.entered;
        self.entered += 1;
        let flights = &mut self.packets.flights;
        self.queues.push(wait.queue, wait.packet, ready, flights);
        self.waits(wait.port, ready);
    }

    /// A queue of `port` has a packet that may leave at `ready`.
    #[inline]
    fn waits(&mut self, port: InterfaceId, ready: Cycles) {
        let out = &mut self.outputs[port];
        out.own = out.own.min(ready.max(out.free));
        let due = out.due();
        self.output_is_due(port, due);
    }

    /// A send or an echo comes to where it goes.
    #[inline]
    fn arrive<H: Handler<Tag = T>>(&mut self, port: InterfaceId, now: Cycles, handler: &mut H) {
        let input = &mut self.inputs[port];
        let (place, &mut header, next) = self.headers.pop(&mut input.line);
        self.headers.remove(place);
        self.came[port].count(header.kind, now, header.size);
        input.arrival = if next == Cycles::MAX {
            NEVER
        } else {
            key(next, ARRIVE)
        };
        self.inputs_due[port] = input.due();
        match header.kind {
            Kind::Send => self.strip(port, &header, now, handler),
            Kind::Good => self.release(port, &header, now),
            Kind::Busy => self.retry(port, header.packet(), now),
        }
    }

    /// A busy echo has come: its packet is ready again.
    fn retry(&mut self, port: InterfaceId, packet: PacketId, now: Cycles) {
        // The packet goes before those behind it from now on, but not before.
        self.advance(port, now);
        self.counters.retries[port.index()] += 1;
        let flight = &mut self.packets.flights[packet];
        flight.ready = now;
        flight.retries += 1;
        let queue = flight.queue;
        self.queues
            .put_back(queue, packet, &mut self.packets.flights);
        self.waits(port, now);
    }

    /// A good echo has come: a slot of an output queue is free.
    #[inline]
    fn release(&mut self, port: InterfaceId, echo: &Header, now: Cycles) {
        self.queues.slots[echo.queue()].held -= 1;
        let (from, class) = (echo.from, echo.class.number());
        if from == port {
            self.admit_waiting(self.inputs[port].node as usize, class, now);
        } else {
            self.look(from, class, now);
        }
    }

    /// The crossbar behind an input is to look, as soon as it is free, whether it can transfer a
    /// packet.
    #[inline]
    fn look(&mut self, port: InterfaceId, class: usize, now: Cycles) {
        let input = &mut self.inputs[port];
        let queue = &input.queues[class];
        if queue.len > 0 {
            let ready = self.packets.flights[queue.head].ready;
            let time = now.max(input.done).max(ready);
            input.crossbar = input.crossbar.min(key(time, TRANSFER));
            self.inputs_due[port] = input.due();
        }
    }

    /// Packets of the client move up as long as the first finds a slot.
    fn admit_waiting(&mut self, node: usize, class: usize, now: Cycles) {
        while let Some(&wait) = self.clients[node].waiting[class].front()
            && !self.queues.slots[wait.queue].is_full()
        {
            let waiting = &mut self.clients[node].waiting[class];
            waiting.pop_front();
            if let Some(next) = waiting.front() {
                // A packet that has waited for long is no longer in the processor's caches: it is called
                // for before it is needed.
                std::hint::black_box(self.packets.flights[next.packet].symbols);
            }
            self.admit(wait, now);
        }
    }

    /// A send arrives at its target: it is accepted or refused, and its echo follows.
    #[inline]
    fn strip<H: Handler<Tag = T>>(
        &mut self,
        port: InterfaceId,
        send: &Header,
        now: Cycles,
        handler: &mut H,
    ) {
        let packet = send.packet();
        let flight = &self.packets.flights[packet];
        let class = flight.class.number();
        let input = &mut self.inputs[port];
        // The packet in transfer holds its slot to the end. One that is for the client is gone
        // before the next header comes, so nobody ever finds its slot held.
        let moving = input.done > now && input.moving == flight.class;
        let held = input.queues[class].len + u32::from(moving);
        if held >= self.rules.input_slots {
            return;
        }
        let echo = self.headers.get_mut(send.echo);
        echo.kind = Kind::Good;
        echo.number = flight.queue.number();
        echo.from = flight.from;
        let stretch = flight.stretch + 1;
        if stretch == flight.stretches {
            self.deliver(port, packet, now, handler);
            return;
        }
        self.packets.put_on(packet, stretch);
        // From when on the crossbar may take it.
        let (decision, _) = self.rules.around_transfer();
        self.packets.flights[packet].ready = now + decision;
        let alone = input.queues.iter().all(|queue| queue.len == 0);
        input.queues[class].push(packet, &mut self.packets.flights);
        if alone && input.done <= now && decision == 0 {
            // The transfer that the crossbar would begin later in this cycle.
            self.transfer(port, now);
        } else {
            self.look(port, class, now);
        }
    }

    fn deliver<H: Handler<Tag = T>>(
        &mut self,
        port: InterfaceId,
        packet: PacketId,
        now: Cycles,
        handler: &mut H,
    ) {
        let node = self.inputs[port].node;
        let flight = &self.packets.flights[packet];
        let origin = self.packets.origins[packet];
        let links = self.packets.route(packet);
        let links = links.iter().map(|stretch| u32::from(stretch.hops)).sum();
        let delivery = Delivery {
            tag: origin.tag,
            node,
            class: flight.class,
            symbols: u32::from(flight.symbols),
            generated: origin.generated,
            admitted: origin.admitted,
            sent: flight.sent,
            header: now,
            tail: now + u64::from(flight.symbols),
            ring_changes: u32::from(flight.stretches) - 1,
            links,
            retries: flight.retries,
        };
        self.packets.remove(packet);
        self.under_way -= 1;
        self.last_delivery = self.last_delivery.max(now);
        self.counters.delivered[node as usize] += 1;
        handler.delivered(&delivery, &mut self.offers);
        self.take_offers(node, now);
    }

    /// The crossbar behind an input takes the first packet that finds a slot, responses first.
    fn transfer(&mut self, port: InterfaceId, now: Cycles) {
        let input = &mut self.inputs[port];
        input.crossbar = NEVER;
        if input.done <= now {
            for class in [Class::Response, Class::Request] {
                let input = &self.inputs[port];
                let waiting = input.queues[class.number()];
                if waiting.len == 0 {
                    continue;
                }
                let packet = waiting.head;
                let ready = self.packets.flights[packet].ready;
                if ready > now {
                    let input = &mut self.inputs[port];
                    input.crossbar = input.crossbar.min(key(ready, TRANSFER));
                    continue;
                }
                let queue = self.queue_for(packet, Some(u32::from(input.port)));
                if self.queues.slots[queue].is_full() {
                    continue;
                }
                let flight = &self.packets.flights[packet];
                let input = &mut self.inputs[port];
                input.queues[class.number()].pop(&self.packets.flights);
                input.done = now + u64::from(flight.symbols);
                input.moving = class;
                if input.queues.iter().any(|queue| queue.len > 0) {
                    input.crossbar = key(input.done, TRANSFER);
                }
                let wait = Waiting {
                    packet,
                    port: flight.on.port,
                    queue,
                };
                let (_, after) = self.rules.around_transfer();
                self.enter(wait, port, now + after);
                break;
            }
        }
        self.inputs_due[port] = self.inputs[port].due();
    }
}

/// The earliest key among the inputs of a node, and the first of those that have it.
#[inline]
fn first_due(inputs: &[Key]) -> (Key, usize) {
    let mut first = NEVER;
    let mut place = 0;
    for (index, &key) in inputs.iter().enumerate() {
        if key < first {
            first = key;
            place = index;
        }
    }
    (first, place)
}
