//! Events of a node: arrivals of packets and echoes, its client, and its crossbars.

use super::lines::{Header, Kind};
use super::packets::PacketId;
use super::port::{ARRIVE, GENERATE, Key, NEVER, TRANSFER, key, phase_of, time_of};
use super::queue::QueueId;
use super::{Engine, Waiting};
use crate::traffic::{Class, Delivery, Dropped, REMINDER};
use crate::{Handler, InterfaceId, Source};
use isthmus_kernel::{Cycles, Id};

impl<T: Copy> Engine<T> {
    /// Serve the events of all nodes before `end`. The caller then serves the outputs: each packet
    /// in an output queue has the time from which it may leave.
    pub(super) fn run_nodes<H: Handler<Tag = T>>(&mut self, end: Cycles, handler: &mut H) {
        let mut busy = std::mem::take(&mut self.busy);
        let count = self.nodes_agenda.collect(&self.nodes_due, end, &mut busy);
        for &node in &busy[..count] {
            self.run_node(node as usize, end, handler);
        }
        self.busy = busy;
    }

    /// Serve the events of `node` before `end`: arrivals, the client and the crossbars, in order of
    /// time.
    #[inline]
    fn run_node<H: Handler<Tag = T>>(&mut self, node: usize, end: Cycles, handler: &mut H) {
        let range = self.fabric.node_interfaces(node as u32);
        loop {
            let (first, port) = first_due(&self.inputs_due.values()[range.clone()]);
            let port = InterfaceId::new((range.start + port) as u32);
            let client = self.clients_due[node];
            let due = time_of(first.min(client));
            if due >= end {
                self.nodes_due[node] = due;
                return self.nodes_agenda.set_due(node as u32, due);
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

    /// Generate the next packet of the client of `node`, its traffic source.
    fn generate<H: Handler<Tag = T>>(&mut self, node: usize, now: Cycles, handler: &mut H) {
        let client = &mut self.clients[node];
        let (_, packet) = client.scheduled.pop_front().expect("a packet is to come");
        self.clients_due[node] = match client.scheduled.front() {
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
            port: self.packets.flights[packet].current.port,
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

    /// Return the output queue for the present segment of a packet's route. The packet came in by
    /// interface number `from` of its node, or from the client if `from` is `None`.
    #[inline]
    pub(super) fn queue_for(&self, packet: PacketId, from: Option<u32>) -> QueueId {
        let flight = &self.packets.flights[packet];
        let port = flight.current.port;
        let from = from.unwrap_or(u32::from(self.inputs[port].port));
        self.outputs[port].queue(flight.class.number(), from)
    }

    /// Put a packet of a node's client (its traffic source) into a free slot of its output queue.
    #[inline]
    fn admit(&mut self, wait: Waiting, now: Cycles) {
        self.packets.origins[wait.packet].admitted = now;
        self.enqueue(wait, wait.port, now);
    }

    /// Add a packet to an output queue. The packet may leave from cycle `ready` on. `from` is the
    /// interface by which the packet came into the node; for a packet of the client, the interface
    /// of the queue.
    #[inline]
    fn enqueue(&mut self, wait: Waiting, from: InterfaceId, ready: Cycles) {
        let flight = &mut self.packets.flights[wait.packet];
        flight.queue = wait.queue;
        flight.from = from;
        flight.ready = ready;
        flight.age = self.entry_count;
        self.entry_count += 1;
        let flights = &mut self.packets.flights;
        self.queues.push(wait.queue, wait.packet, ready, flights);
        self.schedule_departure(wait.port, ready);
    }

    /// Schedule the departure of a packet from interface `port`. The packet may leave from cycle
    /// `ready` on.
    #[inline]
    fn schedule_departure(&mut self, port: InterfaceId, ready: Cycles) {
        let out = &mut self.outputs[port];
        out.own = out.own.min(ready.max(out.free));
        let due = out.due();
        self.schedule_output(port, due);
    }

    /// Handle the arrival of a send packet or an echo at its destination.
    #[inline]
    fn arrive<H: Handler<Tag = T>>(&mut self, port: InterfaceId, now: Cycles, handler: &mut H) {
        let input = &mut self.inputs[port];
        let (slot, &mut header, next) = self.headers.pop(&mut input.line);
        self.headers.remove(slot);
        self.received[port].count(header.kind, now, header.size);
        input.arrival = if next == Cycles::MAX {
            NEVER
        } else {
            key(next, ARRIVE)
        };
        self.inputs_due[port] = input.due();
        match header.kind {
            Kind::Send => self.accept_or_refuse(port, &header, now, handler),
            Kind::Good => self.release(port, &header, now),
            Kind::Busy => self.retry(port, header.packet(), now),
        }
    }

    /// Handle a busy echo: the packet of the echo is ready to be sent again.
    fn retry(&mut self, port: InterfaceId, packet: PacketId, now: Cycles) {
        // First send the packets that leave before `now`: only from now on does the refused packet
        // have priority over those behind it in its queue.
        self.run_output(port, now);
        self.counters.retries[port.index()] += 1;
        let flight = &mut self.packets.flights[packet];
        flight.ready = now;
        flight.retries += 1;
        let queue = flight.queue;
        self.queues
            .put_back(queue, packet, &mut self.packets.flights);
        self.schedule_departure(port, now);
    }

    /// Handle a good echo: release the slot of the packet in its output queue.
    #[inline]
    fn release(&mut self, port: InterfaceId, echo: &Header, now: Cycles) {
        self.queues.slots[echo.queue()].held -= 1;
        let (from, class) = (echo.from, echo.class.number());
        if from == port {
            self.admit_waiting(self.inputs[port].node as usize, class, now);
        } else {
            self.schedule_transfer(from, class, now);
        }
    }

    /// Schedule the next transfer of a packet from an input to an output: the crossbar searches for
    /// a packet as soon as it is free.
    #[inline]
    fn schedule_transfer(&mut self, port: InterfaceId, class: usize, now: Cycles) {
        let input = &mut self.inputs[port];
        let queue = &input.queues[class];
        if queue.len > 0 {
            let ready = self.packets.flights[queue.head].ready;
            let time = now.max(input.crossbar_free).max(ready);
            input.crossbar = input.crossbar.min(key(time, TRANSFER));
            self.inputs_due[port] = input.due();
        }
    }

    /// Admit waiting packets of the client as long as the first one finds a free slot.
    fn admit_waiting(&mut self, node: usize, class: usize, now: Cycles) {
        while let Some(&wait) = self.clients[node].waiting[class].front()
            && !self.queues.slots[wait.queue].is_full()
        {
            let waiting = &mut self.clients[node].waiting[class];
            waiting.pop_front();
            if let Some(next) = waiting.front() {
                // A packet that has waited for long is not in the processor's cache. Read it before
                // it is needed.
                std::hint::black_box(self.packets.flights[next.packet].symbols);
            }
            self.admit(wait, now);
        }
    }

    /// Handle a send packet that reaches its target node: accept or refuse it, and set the kind of
    /// the echo packet that replaces it on the ring: good (accepted) or busy (refused).
    #[inline]
    fn accept_or_refuse<H: Handler<Tag = T>>(
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
        // A packet in transfer occupies its slot until the end of the transfer. The slot of a
        // packet for the client is free before the next header comes, so it needs no test.
        let transferring = input.crossbar_free > now && input.transfer_class == flight.class;
        let held = input.queues[class].len + u32::from(transferring);
        if held >= self.rules.input_slots {
            return;
        }
        let echo = self.headers.get_mut(send.echo);
        echo.kind = Kind::Good;
        echo.number = flight.queue.number();
        echo.from = flight.from;
        let segment = flight.segment + 1;
        if segment == flight.segments {
            self.deliver(port, packet, now, handler);
            return;
        }
        self.packets.set_segment(packet, segment);
        // The crossbar may transfer the packet after the delay of its decision.
        let (decision, _) = self.rules.ring_change_delays();
        self.packets.flights[packet].ready = now + decision;
        let alone = input.queues.iter().all(|queue| queue.len == 0);
        input.queues[class].push(packet, &mut self.packets.flights);
        if alone && input.crossbar_free <= now && decision == 0 {
            // The crossbar would start this transfer later in the same cycle, so start it now.
            self.transfer(port, now);
        } else {
            self.schedule_transfer(port, class, now);
        }
    }

    /// Report the delivery of a packet to the handler and remove the packet.
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
        let links = links.iter().map(|segment| u32::from(segment.hops)).sum();
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
            ring_changes: u32::from(flight.segments) - 1,
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

    /// Start the transfer of the first packet for which the output queue has a free slot, responses
    /// first.
    fn transfer(&mut self, port: InterfaceId, now: Cycles) {
        let input = &mut self.inputs[port];
        input.crossbar = NEVER;
        if input.crossbar_free <= now {
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
                input.crossbar_free = now + u64::from(flight.symbols);
                input.transfer_class = class;
                if input.queues.iter().any(|queue| queue.len > 0) {
                    input.crossbar = key(input.crossbar_free, TRANSFER);
                }
                let wait = Waiting {
                    packet,
                    port: flight.current.port,
                    queue,
                };
                let (_, after) = self.rules.ring_change_delays();
                self.enqueue(wait, port, now + after);
                break;
            }
        }
        self.inputs_due[port] = self.inputs[port].due();
    }
}

/// Return the earliest event (its sort key) among the inputs of a node, and the first input with
/// this key.
#[inline]
fn first_due(inputs: &[Key]) -> (Key, usize) {
    let mut first = NEVER;
    let mut index = 0;
    for (input, &key) in inputs.iter().enumerate() {
        if key < first {
            first = key;
            index = input;
        }
    }
    (first, index)
}
