//! What happens at one node.

use super::Engine;
use super::packets::NONE;
use super::port::{
    BUSY, CLIENT, CROSSBAR, Entry, GOOD, Key, NEVER, OWN, PASS, SEND, TARGET, key, kind_of,
    phase_of, time_of,
};
use crate::traffic::{Class, Delivery, Dropped};
use crate::{Handler, Source};
use isthmus_kernel::Cycles;

impl<T: Copy> Engine<T> {
    /// Serves what is due at `node` before `end`, in order of time.
    pub(super) fn run_node<H: Handler<Tag = T>>(&mut self, node: usize, end: Key, handler: &mut H) {
        let range = self.fabric.of_node(node as u32);
        loop {
            let mut first = NEVER;
            let mut port = range.start;
            for index in range.clone() {
                let key = self.ports[index].key;
                if key < first {
                    first = key;
                    port = index;
                }
            }
            let client = self.clients[node].key;
            if client < first {
                if client >= end {
                    self.next[node] = client;
                    return;
                }
                self.generate(node, time_of(client), handler);
                continue;
            }
            if first >= end {
                self.next[node] = first;
                return;
            }
            let time = time_of(first);
            match phase_of(first) {
                TARGET => self.arrive(port, time, kind_of(first), handler),
                CROSSBAR => self.transfer(port, time),
                OWN => self.start(port, time),
                _ => self.pass(port, time),
            }
        }
    }

    /// A client generates its next packet.
    fn generate<H: Handler<Tag = T>>(&mut self, node: usize, now: Cycles, handler: &mut H) {
        let client = &mut self.clients[node];
        let (_, packet) = client.to_come.pop_front().expect("a packet is to come");
        client.key = match client.to_come.front() {
            Some(&(time, _)) => key(time, CLIENT, 0),
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
        self.enter(packet, queue, now);
    }

    /// A packet takes a slot of an output queue, from where it may leave at `ready`.
    #[inline]
    fn enter(&mut self, packet: u32, queue: usize, ready: Cycles) {
        let flight = &mut self.packets.flights[packet as usize];
        flight.queue = queue as u32;
        flight.ready = ready;
        flight.age = self.entered;
        self.entered += 1;
        let stretch = flight.stretch;
        let out = self.packets.stretch(packet, stretch).port as usize;
        self.queues[queue].held += 1;
        self.queues[queue].push(packet, &mut self.packets.flights);
        let port = &mut self.ports[out];
        port.waiting |= 1 << (queue as u32 - port.queues);
        port.ready = port.ready.min(ready);
        port.refresh_own();
    }

    /// A packet or an echo arrives where it goes.
    #[inline]
    fn arrive<H: Handler<Tag = T>>(
        &mut self,
        port: usize,
        now: Cycles,
        kind: u64,
        handler: &mut H,
    ) {
        match kind {
            SEND => self.strip(port, now, handler),
            GOOD => {
                let queue = self.take(port).number;
                self.release(port, queue, now);
            }
            _ => {
                let packet = self.take(port).number;
                self.counters.retries[port] += 1;
                let flight = &mut self.packets.flights[packet as usize];
                flight.ready = now;
                flight.retries += 1;
                let queue = flight.queue;
                self.queues[queue as usize].put_back(packet, &mut self.packets.flights);
                let port = &mut self.ports[port];
                port.waiting |= 1 << (queue - port.queues);
                port.ready = port.ready.min(now);
                port.refresh_own();
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
                input.crossbar = input.crossbar.min(key(now.max(input.done), CROSSBAR, 0));
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
    fn strip<H: Handler<Tag = T>>(&mut self, port: usize, now: Cycles, handler: &mut H) {
        let slot = self.link_slot(port);
        let packet = self.links[slot].number;
        let flight = self.packets.flights[packet as usize];
        let class = flight.class.number();
        let input = &mut self.ports[port];
        // The packet in transfer holds its slot to the end. One that is for the client is gone
        // before the next header comes, so nobody ever finds its slot held.
        let moving = input.done > now && input.moving == class as u32;
        let accepted = input.inputs[class].len + u32::from(moving) < self.rules.input_slots;
        let follows = now + u64::from(flight.symbols) - u64::from(self.rules.echo);
        let kind = if accepted { GOOD } else { BUSY };
        let echo = Entry {
            key: key(follows, PASS, kind),
            number: if accepted { flight.queue } else { packet },
            left: self.packets.stretch(packet, flight.stretch).back,
            size: self.rules.echo as u16 + 1,
        };
        self.links[slot] = echo;
        input.input = echo.key;
        if !accepted {
            input.refresh();
        } else if flight.stretch + 1 == flight.stretches {
            input.refresh();
            self.deliver(port, packet, now, handler);
        } else {
            let flights = &mut self.packets.flights;
            flights[packet as usize].stretch += 1;
            input.inputs[class].push(packet, flights);
            let look = key(now.max(input.done), CROSSBAR, 0);
            input.crossbar = input.crossbar.min(look);
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
                self.enter(packet, queue, now + self.rules.ring_change);
                let input = &mut self.ports[port];
                input.crossbar = if input.inputs.iter().any(|queue| queue.len > 0) {
                    key(input.done, CROSSBAR, 0)
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

    /// An own packet leaves: the oldest that is ready of the next queue in turn that has one.
    #[inline]
    fn start(&mut self, port: usize, now: Cycles) {
        let out = &self.ports[port];
        let base = out.queues as usize;
        let ready = |place: u32| self.queues[base + place as usize].ready;
        let later = out.waiting & (u64::MAX << out.turn);
        let place = bits(later)
            .chain(bits(out.waiting ^ later))
            .find(|&place| ready(place) <= now)
            .expect("an own packet is ready");
        let packet = self.queues[base + place as usize].pop(&self.packets.flights);
        let flight = &self.packets.flights[packet as usize];
        let symbols = flight.symbols;
        let hops = self.packets.stretch(packet, flight.stretch).hops;
        if flight.stretch == 0 {
            let sent = &mut self.packets.origins[packet as usize].sent;
            *sent = (*sent).min(now);
        }
        let out = &mut self.ports[port];
        out.turn = if place + 1 == out.queue_count {
            0
        } else {
            place + 1
        };
        if self.queues[base + place as usize].head == NONE {
            out.waiting &= !(1 << place);
        }
        out.ready = bits(out.waiting)
            .map(|place| self.queues[base + place as usize].ready)
            .min()
            .unwrap_or(Cycles::MAX);
        let size = symbols + 1;
        out.free = now + u64::from(size);
        out.refresh_own();
        self.last_start = self.last_start.max(now);
        self.counters.sends[port] += 1;
        self.counters.send_symbols[port] += u64::from(size);
        let entry = Entry {
            key: SEND,
            number: packet,
            left: hops,
            size,
        };
        self.put(port, entry, now);
    }

    /// What has arrived leaves when the link is free.
    #[inline]
    fn pass(&mut self, port: usize, now: Cycles) {
        let entry = self.take(port);
        let out = &mut self.ports[port];
        let start = now.max(out.free);
        let size = u64::from(entry.size);
        out.free = start + size;
        out.refresh_own();
        if kind_of(entry.key) == SEND {
            self.counters.send_symbols[port] += size;
        } else {
            self.counters.echo_symbols[port] += size;
        }
        self.put(port, entry, start);
    }

    #[inline]
    fn link_slot(&self, port: usize) -> usize {
        (port << self.link_shift) + self.ports[port].link_head as usize
    }

    /// Takes the first entry of the link into `port`. Leaves the port's key to its caller.
    #[inline]
    fn take(&mut self, port: usize) -> Entry {
        let entry = self.links[self.link_slot(port)];
        let input = &mut self.ports[port];
        input.link_head = (input.link_head + 1) & self.link_mask;
        input.link_len -= 1;
        let slot = (port << self.link_shift) + input.link_head as usize;
        input.input = if input.link_len == 0 {
            NEVER
        } else {
            self.links[slot].key
        };
        input.refresh();
        entry
    }

    /// Puts an entry on the link out of `port`, which its header leaves at `start`.
    #[inline]
    fn put(&mut self, port: usize, mut entry: Entry, start: Cycles) {
        let to = self.ports[port].next as usize;
        entry.left -= 1;
        let phase = if entry.left == 0 { TARGET } else { PASS };
        entry.key = key(start + self.rules.hop, phase, kind_of(entry.key));
        let input = &mut self.ports[to];
        debug_assert!(input.link_len <= self.link_mask, "a link overflows");
        let place = (input.link_head + input.link_len) & self.link_mask;
        self.links[(to << self.link_shift) + place as usize] = entry;
        if input.link_len == 0 {
            input.input = entry.key;
            input.refresh();
            let next = &mut self.next[input.node as usize];
            *next = (*next).min(entry.key);
        }
        input.link_len += 1;
    }
}

/// The places of the bits that are set, from the lowest.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let place = mask.trailing_zeros();
            mask &= mask - 1;
            place
        })
    })
}
