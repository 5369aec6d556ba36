//! The symbol-by-symbol reference engine.
//!
//! It moves every symbol on every link in every cycle: links are delay lines, bypass FIFOs hold
//! symbols, crossbars move one symbol per cycle. It shares nothing with the event-driven engine
//! except the interface, the fabric and the search for circular waits.
//!
//! A symbol needs `hop` cycles from node to node. Therefore each node is served for that many
//! cycles in a row. This changes the run time only.

mod agent;
mod interface;
mod parts;
mod stall;

use crate::traffic::{CLASSES, Packet, REMINDER};
use crate::{Counters, Error, Fabric, Handler, Offers, RingEngine, Rules, Stall};
use isthmus_kernel::{Cycles, Id, Ran, RunUntil, Slab};
use parts::{
    ActionId, Decoder, Exit, Input, Output, PacketId, Sending, Subaction, Symbol, Traveller,
};
use std::collections::VecDeque;

/// Packets of a node's client (its traffic source) that are not in an output queue yet.
#[derive(Debug, Clone, Default)]
struct Client {
    /// Packets to be generated, with their times of generation, in order of time.
    scheduled: VecDeque<(Cycles, PacketId)>,
    /// Packets that wait for a slot of their output queue, by class.
    waiting: [VecDeque<(PacketId, Exit)>; CLASSES],
}

/// Reference engine, which simulates every symbol: see the [module](self) and the rules of the
/// crate.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    fabric: Fabric,
    rules: Rules,
    now: Cycles,
    /// Symbols on the link into each interface. Each link has a ring buffer of twice `hop` cycles,
    /// of which one half is read while the other half is written.
    lines: Vec<Symbol>,
    /// Symbol that each interface forwards in this cycle.
    forwarded: Vec<Symbol>,
    decoders: Vec<Decoder>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    clients: Vec<Client>,
    packets: Slab<PacketId, Traveller<T>>,
    actions: Slab<ActionId, Subaction>,
    offers: Offers<T>,
    counters: Counters,
    /// Number of times that a packet has entered an output queue so far; it is the number of the
    /// next slot.
    slots: u64,
    under_way: u64,
    last_delivery: Cycles,
    last_start: Cycles,
}

impl<T: Copy> Engine<T> {
    /// Return the idle state of all interfaces of the fabric: their decoders, inputs and outputs.
    fn interfaces(fabric: &Fabric) -> (Vec<Decoder>, Vec<Input>, Vec<Output>) {
        let decoder = Decoder {
            ends_here: false,
            echo_begins: 0,
            last_go: true,
            symbol_counts: [0; 3],
        };
        let interfaces = fabric.interfaces().values().iter();
        let input = |interface: &crate::Interface| Input {
            node: interface.node,
            port: interface.port as usize,
            queues: [VecDeque::new(), VecDeque::new()],
            count: 0,
            for_client: None,
            crossbar: None,
        };
        let output = |interface: &crate::Interface| Output {
            node: interface.node,
            next: interface.next,
            sending: Sending::Nothing,
            saved_go: false,
            emitted_go: true,
            waiting: 0,
            turn: 0,
            bypass: VecDeque::new(),
            queues: vec![Vec::new(); fabric.node_interfaces(interface.node).len() * CLASSES],
        };
        (
            vec![decoder; fabric.interfaces().values().len()],
            interfaces.clone().map(input).collect(),
            interfaces.map(output).collect(),
        )
    }

    /// Accept a packet or reminder (a timer) that the handler offered, and schedule its generation
    /// at `time`.
    fn insert(&mut self, time: Cycles, packet: &Packet<'_, T>) {
        let is_reminder = packet.symbols == REMINDER && packet.route.is_empty();
        assert!(
            is_reminder
                || packet.symbols >= self.rules.echo && packet.symbols <= self.rules.symbols_max,
            "a send has {} to {} symbols, not {}",
            self.rules.echo,
            self.rules.symbols_max,
            packet.symbols
        );
        if !is_reminder && let Err(error) = self.fabric.route_end(packet.node, packet.route) {
            panic!("{error}");
        }
        let traveller = Traveller {
            tag: packet.tag,
            node: packet.node,
            class: packet.class,
            symbols: packet.symbols,
            route: packet.route.to_vec(),
            segment_index: 0,
            generated: time,
            admitted: 0,
            sent: None,
            retries: 0,
        };
        let number = self.packets.insert(traveller);
        let scheduled = &mut self.clients[packet.node as usize].scheduled;
        let index = scheduled.partition_point(|&(other, _)| other <= time);
        scheduled.insert(index, (time, number));
    }

    /// Accept the packets and reminders (timers) that the handler offered in answer to a report on
    /// `node`.
    fn take_offers(&mut self, node: u32) {
        let offers = std::mem::take(&mut self.offers);
        for (time, packet) in offers.iter() {
            offers.check(node, self.now, time, &packet);
            self.insert(time, &packet);
        }
        self.offers = offers;
        self.offers.clear();
    }

    /// Return whether a packet is in flight or to be generated.
    fn has_work(&self) -> bool {
        self.under_way > 0 || (self.clients.iter()).any(|client| !client.scheduled.is_empty())
    }

    /// Serve one cycle at one node. Incoming symbols are read at index `read` of the ring buffers;
    /// outgoing symbols are written at index `write`.
    fn cycle<H: Handler<Tag = T>>(
        &mut self,
        node: usize,
        [read, write]: [usize; 2],
        handler: &mut H,
    ) {
        let ports = self.fabric.node_interfaces(node as u32);
        let line_length = 2 * self.rules.hop as usize;
        // Bitmap of the interfaces at whose incoming symbol a packet or its echo starts or ends.
        // These symbols are decoded after the others.
        let mut special = 0u32;
        let decoders = self.decoders[ports.clone()].iter_mut();
        let forwarded = self.forwarded[ports.clone()].iter_mut();
        for (index, (decoder, forwarded)) in decoders.zip(forwarded).enumerate() {
            let incoming = self.lines[(ports.start + index) * line_length + read];
            decoder.count(incoming);
            *forwarded = decoder.replace(incoming);
            special |= u32::from(decoder.is_special(incoming)) << index;
        }
        for port in set_bits(special, ports.start) {
            let incoming = self.lines[port * line_length + read];
            self.forwarded[port] = self.decode(port, incoming, handler);
        }
        self.generate(node, handler);
        for port in ports.clone() {
            self.transfer(port);
        }
        let mut special = 0u32;
        let outputs = self.outputs[ports.clone()].iter_mut();
        let forwarded = &self.forwarded[ports.clone()];
        for (index, (output, &incoming)) in outputs.zip(forwarded).enumerate() {
            match output.carry(incoming) {
                Some(symbol) => self.lines[output.next.index() * line_length + write] = symbol,
                None => special |= 1 << index,
            }
        }
        for port in set_bits(special, ports.start) {
            let symbol = self.next_symbol(port);
            let next = self.outputs[port].next.index();
            self.lines[next * line_length + write] = symbol;
        }
    }
}

/// Return the indices of the set bits of a mask, each plus `start`.
fn set_bits(mut mask: u32, start: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (place < 32).then_some(start + place)
    })
}

impl<T: Copy> isthmus_kernel::Engine for Engine<T> {
    /// Each message of this engine is one SCI packet.
    type Message<'a> = Packet<'a, T>;

    /// Return the current cycle of the simulation.
    fn now(&self) -> Cycles {
        self.now
    }

    /// Insert a packet that its node offers at cycle `time`, which must not be in the past.
    fn offer(&mut self, time: Cycles, packet: Packet<'_, T>) {
        assert!(
            time >= self.now,
            "a packet was offered for cycle {time}, now is {}",
            self.now
        );
        self.insert(time, &packet);
    }

    /// Return the number of packets that are generated and not yet delivered.
    fn under_way(&self) -> u64 {
        self.under_way
    }
}

impl<T: Copy, H: Handler<Tag = T>> RunUntil<H> for Engine<T> {
    /// Run the simulation until `limit`, until no packet is left, or until the handler has
    /// finished.
    fn run_until(&mut self, limit: Cycles, handler: &mut H) -> Ran {
        while !handler.finished() {
            if self.now >= limit || (limit == Cycles::MAX && !self.has_work()) {
                return Ran::at_limit(self.has_work(), self.under_way);
            }
            let begin = self.now;
            let end = limit.min(begin + self.rules.hop);
            let hop = self.rules.hop as usize;
            let first = [begin, begin + self.rules.hop].map(|time| time as usize % (2 * hop));
            for node in 0..self.clients.len() {
                let mut indices = first;
                for now in begin..end {
                    self.now = now;
                    self.cycle(node, indices, handler);
                    indices = indices.map(|at| if at + 1 == 2 * hop { 0 } else { at + 1 });
                }
            }
            self.now = end;
        }
        Ran::Finished
    }
}

impl<T: Copy> RingEngine<T> for Engine<T> {
    /// Return an engine for the fabric with idle interfaces, at cycle 0. Fails if the rules are
    /// invalid.
    fn new(fabric: &Fabric, rules: Rules) -> Result<Self, Error> {
        rules.check()?;
        let interfaces = fabric.interfaces().values().len();
        let (decoders, inputs, outputs) = Self::interfaces(fabric);
        Ok(Self {
            now: 0,
            lines: vec![Symbol::free(true); 2 * rules.hop as usize * interfaces],
            forwarded: vec![Symbol::free(true); interfaces],
            decoders,
            inputs,
            outputs,
            clients: vec![Client::default(); fabric.node_count() as usize],
            packets: Slab::new(),
            actions: Slab::new(),
            offers: Offers::default(),
            counters: Counters::new(fabric),
            slots: 0,
            under_way: 0,
            last_delivery: 0,
            last_start: 0,
            fabric: fabric.clone(),
            rules,
        })
    }

    /// Return the traffic counters since the last reset.
    fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        for (link, output) in self.outputs.iter().enumerate() {
            let [_, sends, echoes] = self.decoders[output.next.index()].symbol_counts;
            (counters.send_symbols[link], counters.echo_symbols[link]) = (sends, echoes);
        }
        counters
    }

    /// Set all traffic counters of the fabric to 0.
    fn reset_counters(&mut self) {
        self.counters.reset();
        for decoder in &mut self.decoders {
            decoder.symbol_counts = [0; 3];
        }
    }

    /// Return the stall if packets wait and none has been delivered for `limit` cycles.
    fn stalled(&self, limit: Cycles) -> Option<Stall> {
        self.find_stall(limit)
    }

    /// Return the nodes whose full queues wait for one another and can never move again.
    fn wedged(&self) -> Vec<u32> {
        self.waiting().wedged(&self.fabric)
    }
}
