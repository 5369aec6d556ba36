//! The symbol-by-symbol reference.
//!
//! Moves every symbol on every link in every cycle: links are delay lines, bypass FIFOs hold
//! symbols, crossbars move one symbol per cycle. It shares nothing with the event-driven engine but
//! the face, the fabric and the search for circles of full queues.

mod agent;
mod interface;
mod parts;
mod stall;

use crate::traffic::{CLASSES, Packet};
use crate::{Counters, Error, Fabric, Handler, Offers, Rules, Stall};
use isthmus_kernel::Cycles;
use parts::{Decoder, Exit, Input, Output, Places, Subaction, Symbol, Traveller};
use std::collections::VecDeque;

/// A node's client.
#[derive(Debug, Clone, Default)]
struct Client {
    /// Packets to be generated and when, in order of time.
    to_come: VecDeque<(Cycles, u32)>,
    /// Packets that wait for a slot, by class.
    waiting: [VecDeque<(u32, Exit)>; CLASSES],
}

/// The symbol-by-symbol reference: see the [module](self) and the rules of the crate.
#[derive(Debug, Clone)]
pub struct Engine<T> {
    fabric: Fabric,
    rules: Rules,
    now: Cycles,
    /// What arrives at each interface in each of the next `hop` cycles: a circle of rows.
    lines: Vec<Symbol>,
    /// What each interface lets go on in this cycle.
    passing: Vec<Symbol>,
    decoders: Vec<Decoder>,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    clients: Vec<Client>,
    packets: Places<Traveller<T>>,
    actions: Places<Subaction>,
    offers: Offers<T>,
    counters: Counters,
    /// Output slots ever taken.
    slots: u64,
    under_way: u64,
    last_delivery: Cycles,
    last_start: Cycles,
}

impl<T: Copy> Engine<T> {
    /// Idle interfaces.
    fn interfaces(fabric: &Fabric) -> (Vec<Decoder>, Vec<Input>, Vec<Output>) {
        let decoder = Decoder {
            mine: false,
            echo_begins: 0,
            came_go: true,
        };
        let interfaces = fabric.interfaces().iter();
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
            sending: None,
            saved_go: false,
            emitted_go: true,
            waiting: 0,
            turn: 0,
            bypass: VecDeque::new(),
            queues: vec![Vec::new(); fabric.of_node(interface.node).len() * CLASSES],
        };
        (
            vec![decoder; fabric.interfaces().len()],
            interfaces.clone().map(input).collect(),
            interfaces.map(output).collect(),
        )
    }

    fn lines(fabric: &Fabric, rules: &Rules) -> Vec<Symbol> {
        vec![Symbol::FIRST; fabric.interfaces().len() * rules.hop as usize]
    }

    fn insert(&mut self, time: Cycles, packet: &Packet<'_, T>) {
        assert!(
            packet.symbols >= self.rules.echo && packet.symbols <= self.rules.symbols_max,
            "a send has {} to {} symbols, not {}",
            self.rules.echo,
            self.rules.symbols_max,
            packet.symbols
        );
        if let Err(error) = self.fabric.end_of(packet.node, packet.route) {
            panic!("{error}");
        }
        let traveller = Traveller {
            tag: packet.tag,
            node: packet.node,
            class: packet.class,
            symbols: packet.symbols,
            route: packet.route.to_vec(),
            stretch: 0,
            generated: time,
            admitted: 0,
            sent: None,
            retries: 0,
        };
        let number = self.packets.add(traveller);
        let to_come = &mut self.clients[packet.node as usize].to_come;
        let place = to_come.partition_point(|&(other, _)| other <= time);
        to_come.insert(place, (time, number));
    }

    /// Takes over what a handler has offered when told about `node`.
    fn take_offers(&mut self, node: u32) {
        let offers = std::mem::take(&mut self.offers);
        for (time, packet) in offers.iter() {
            offers.check(node, self.now, time, &packet);
            self.insert(time, &packet);
        }
        self.offers = offers;
        self.offers.clear();
    }

    /// Serves one cycle.
    fn cycle<H: Handler<Tag = T>>(&mut self, handler: &mut H) {
        self.finish_transfers();
        let width = self.outputs.len();
        let line = (self.now % self.rules.hop) as usize * width;
        for port in 0..width {
            let came = self.lines[line + port];
            self.passing[port] = self.decode(port, came, handler);
        }
        for node in 0..self.clients.len() {
            self.generate(node, handler);
        }
        for port in 0..width {
            self.transfer(port);
        }
        for port in 0..width {
            let symbol = self.output(port);
            let next = self.outputs[port].next as usize;
            self.lines[line + next] = symbol;
        }
        self.now += 1;
    }
}

impl<T: Copy> crate::Engine<T> for Engine<T> {
    fn new(fabric: &Fabric, rules: Rules) -> Result<Self, Error> {
        rules.check()?;
        let (decoders, inputs, outputs) = Self::interfaces(fabric);
        Ok(Self {
            now: 0,
            lines: Self::lines(fabric, &rules),
            passing: vec![Symbol::FIRST; fabric.interfaces().len()],
            decoders,
            inputs,
            outputs,
            clients: vec![Client::default(); fabric.node_count() as usize],
            packets: Places::new(),
            actions: Places::new(),
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

    fn clear(&mut self) {
        self.now = 0;
        self.lines = Self::lines(&self.fabric, &self.rules);
        (self.decoders, self.inputs, self.outputs) = Self::interfaces(&self.fabric);
        self.clients.fill(Client::default());
        self.packets = Places::new();
        self.actions = Places::new();
        self.counters.reset();
        self.slots = 0;
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
        while self.now < limit && !handler.finished() {
            self.cycle(handler);
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
