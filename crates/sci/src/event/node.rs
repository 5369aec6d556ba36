//! What happens at one node.

use super::Engine;
use super::port::{
    ARRIVE, Coming, GENERATE, Key, Kind, NEVER, Port, TRANSFER, key, phase_of, time_of,
};
use crate::traffic::{Class, Delivery, Dropped};
use crate::{Handler, Source};
use isthmus_kernel::Cycles;

impl<T: Copy> Engine<T> {
    /// Serves what is due at `node` before `end`: arrivals, the client and the crossbars in order
    /// of time. Outputs follow as far as these ask for, and in the end to the end.
    pub(super) fn run_node<H: Handler<Tag = T>>(
        &mut self,
        node: usize,
        end: Cycles,
        handler: &mut H,
    ) {
        let range = self.fabric.of_node(node as u32);
        let first = loop {
            let (first, port) = first_due(&self.ports[range.clone()]);
            let client = self.clients[node].key;
            if time_of(first.min(client)) >= end {
                break time_of(first.min(client));
            }
            if client < first {
                self.generate(node, time_of(client), handler);
            } else if phase_of(first) == ARRIVE {
                self.arrive(range.start + port, time_of(first), handler);
            } else {
                self.transfer(range.start + port, time_of(first));
            }
        };
        let mut next = first;
        for port in range {
            next = next.min(self.advance(port, end));
        }
        self.next[node] = next;
    }

    /// A client generates its next packet.
    fn generate<H: Handler<Tag = T>>(&mut self, node: usize, now: Cycles, handler: &mut H) {
        let client = &mut self.clients[node];
        let (_, packet) = client.to_come.pop_front().expect("a packet is to come");
        client.key = match client.to_come.front() {
            Some(&(time, _)) => key(time, GENERATE),
            None => NEVER,
        };
        let tag = self.packets.origins[packet as usize].tag;
        let class = self.packets.flights[packet as usize].class;
        self.under_way += 1;
        handler.generated(node as u32, now, tag, &mut self.offers);
        let queue = self.queue_for(packet, None);
        let has_room = self.queues[queue].held < self.queues[queue].slots;
        if has_room && self.clients[node].waiting[class.number()].len == 0 {
            self.admit(packet, queue, now);
        } else if self.rules.source == Source::Unbounded {
            let flights = &mut self.packets.flights;
            self.clients[node].waiting[class.number()].push(packet, flights);
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

    /// The output queue for the present stretch of a packet that comes in by port number `from` of
    /// its node, or from the client.
    #[inline]
    pub(super) fn queue_for(&self, packet: u32, from: Option<u32>) -> usize {
        let flight = &self.packets.flights[packet as usize];
        let out = &self.ports[self.packets.stretch(packet, flight.stretch).port as usize];
        let place = from.unwrap_or(out.port);
        (out.queues + flight.class.number() as u32 * out.ports + place) as usize
    }

    /// A packet of the client gets a slot.
    #[inline]
    fn admit(&mut self, packet: u32, queue: usize, now: Cycles) {
        self.packets.origins[packet as usize].admitted = now;
        self.enter(packet, queue, now, now);
    }

    /// A packet takes a slot of an output queue at `now`, from where it may leave at `ready`.
    #[inline]
    fn enter(&mut self, packet: u32, queue: usize, now: Cycles, ready: Cycles) {
        let flight = &self.packets.flights[packet as usize];
        let out = self.packets.stretch(packet, flight.stretch).port as usize;
        // What left before knew nothing of this packet.
        self.advance(out, now);
        let flight = &mut self.packets.flights[packet as usize];
        flight.queue = queue as u32;
        flight.ready = ready;
        flight.age = self.entered;
        self.entered += 1;
        self.queues[queue].held += 1;
        self.queues[queue].push(packet, &mut self.packets.flights);
        self.waits(out, queue as u32, ready);
    }

    /// A queue of `port` has a packet that may leave at `ready`.
    #[inline]
    fn waits(&mut self, port: usize, queue: u32, ready: Cycles) {
        let out = &mut self.ports[port];
        out.waiting |= 1 << (queue - out.queues);
        out.own = out.own.min(ready.max(out.free));
    }

    /// A send or an echo comes to where it goes.
    #[inline]
    fn arrive<H: Handler<Tag = T>>(&mut self, port: usize, now: Cycles, handler: &mut H) {
        let input = &mut self.ports[port];
        let base = port << self.shift;
        let coming = self.coming[base + input.coming.place(0, self.mask)];
        input.coming.pop(self.mask);
        input.arrival = if input.coming.len == 0 {
            NEVER
        } else {
            key(
                self.coming[base + input.coming.place(0, self.mask)].time,
                ARRIVE,
            )
        };
        input.refresh();
        match coming.kind {
            Kind::Send => self.strip(port, coming, now, handler),
            Kind::Good => self.release(port, coming.number, now),
            Kind::Busy => {
                self.advance(port, now);
                let packet = coming.number;
                self.counters.retries[port] += 1;
                let flight = &mut self.packets.flights[packet as usize];
                flight.ready = now;
                flight.retries += 1;
                let queue = flight.queue;
                self.queues[queue as usize].put_back(packet, &mut self.packets.flights);
                self.waits(port, queue, now);
            }
        }
    }

    /// A good echo has come: a slot of an output queue is free.
    #[inline]
    fn release(&mut self, port: usize, queue: u32, now: Cycles) {
        self.queues[queue as usize].held -= 1;
        let out = self.ports[port];
        let place = queue - out.queues;
        let (class, from) = if place < out.ports {
            (0, place)
        } else {
            (1, place - out.ports)
        };
        if from == out.port {
            let node = out.node as usize;
            self.admit_waiting(node, class, now);
        } else {
            let input = &mut self.ports[port - out.port as usize + from as usize];
            if input.inputs[class].len > 0 {
                input.crossbar = input.crossbar.min(key(now.max(input.done), TRANSFER));
                input.refresh();
            }
        }
    }

    /// Packets of the client move up as long as the first finds a slot.
    fn admit_waiting(&mut self, node: usize, class: usize, now: Cycles) {
        loop {
            let packet = self.clients[node].waiting[class].head;
            if self.clients[node].waiting[class].len == 0 {
                return;
            }
            let queue = self.queue_for(packet, None);
            if self.queues[queue].held == self.queues[queue].slots {
                return;
            }
            self.clients[node].waiting[class].pop(&self.packets.flights);
            self.admit(packet, queue, now);
        }
    }

    /// A send arrives at its target: it is accepted or refused, and its echo follows.
    #[inline]
    fn strip<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        send: Coming,
        now: Cycles,
        handler: &mut H,
    ) {
        let packet = send.number;
        let flight = &mut self.packets.flights[packet as usize];
        let class = flight.class.number();
        let input = &mut self.ports[port];
        // The packet in transfer holds its slot to the end. One that is for the client is gone
        // before the next header comes, so nobody ever finds its slot held.
        let moving = input.done > now && input.moving == class as u32;
        let held = input.inputs[class].len + u32::from(moving);
        if held >= self.rules.input_slots {
            return;
        }
        let echo = &mut self.passing[(port << self.shift) + send.echo as usize];
        echo.kind = Kind::Good;
        echo.number = flight.queue;
        flight.stretch += 1;
        if flight.stretch == flight.stretches {
            self.deliver(port, packet, now, handler);
            return;
        }
        let alone = input.inputs.iter().all(|queue| queue.len == 0);
        input.inputs[class].push(packet, &mut self.packets.flights);
        if alone && input.done <= now {
            // The transfer that the crossbar would begin later in this cycle.
            self.transfer(port, now);
        } else {
            input.crossbar = input.crossbar.min(key(now.max(input.done), TRANSFER));
            input.refresh();
        }
    }

    fn deliver<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        packet: u32,
        now: Cycles,
        handler: &mut H,
    ) {
        let node = self.ports[port].node;
        let flight = self.packets.flights[packet as usize];
        let origin = self.packets.origins[packet as usize];
        let links = self.packets.route(packet);
        let links = links.iter().map(|stretch| u32::from(stretch.hops)).sum();
        let delivery = Delivery {
            tag: origin.tag,
            node,
            class: flight.class,
            symbols: u32::from(flight.symbols),
            generated: origin.generated,
            admitted: origin.admitted,
            sent: origin.sent,
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
    fn transfer(&mut self, port: usize, now: Cycles) {
        let input = self.ports[port];
        if input.done <= now {
            for class in [Class::Response, Class::Request] {
                let class = class.number();
                if input.inputs[class].len == 0 {
                    continue;
                }
                let packet = input.inputs[class].head;
                let queue = self.queue_for(packet, Some(input.port));
                if self.queues[queue].held == self.queues[queue].slots {
                    continue;
                }
                let symbols = u64::from(self.packets.flights[packet as usize].symbols);
                let input = &mut self.ports[port];
                input.inputs[class].pop(&self.packets.flights);
                input.done = now + symbols;
                input.moving = class as u32;
                self.enter(packet, queue, now, now + self.rules.ring_change);
                let input = &mut self.ports[port];
                input.crossbar = if input.inputs.iter().any(|queue| queue.len > 0) {
                    key(input.done, TRANSFER)
                } else {
                    NEVER
                };
                input.refresh();
                return;
            }
        }
        let input = &mut self.ports[port];
        input.crossbar = NEVER;
        input.refresh();
    }
}

/// The earliest key among the interfaces of a node, and the first of those that have it.
#[inline]
fn first_due(ports: &[Port]) -> (Key, usize) {
    let mut first = NEVER;
    let mut place = 0;
    for (index, port) in ports.iter().enumerate() {
        if port.key < first {
            first = port.key;
            place = index;
        }
    }
    (first, place)
}
