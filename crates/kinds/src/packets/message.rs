//! What a message of a job takes on a network of packets, alone.

use crate::jobs::{Message, ns};
use isthmus_analytic::packets::Rules;
use isthmus_machine::packets::spec::NetworkSpec;
use isthmus_workload::jobs::spec::Spread;

impl Message {
    /// What one takes over such a route, with nothing in its way.
    pub fn times(&self, network: &NetworkSpec, rules: &Rules, route: Route) -> Times {
        let Rules { link, interface } = rules;
        let nic = &network.nic;
        let packets = self.packets(interface.payload);
        let data = self.padded(interface.padding);
        let wire = (data + packets * interface.overhead) / link.bandwidth;
        let blocks = data / interface.padding.max(1.0);
        let engine = packets * ns(nic.dma_period) + blocks * ns(nic.dma_block);
        // A circuit is held for its packet, its way and the acknowledgement.
        let (way, back) = route.header_and_acknowledgement(rules);
        let circuits = interface.in_flight.min(link.circuits);
        let engine = engine.max((wire + packets * (way + back)) / circuits);
        let transfer = wire.max(engine);
        // Links hold a circuit for what is left of its way: half of it on average between switches.
        let ack = link.acknowledgement_ns;
        let held = [way + back, (way + back + ack) / 2.0, ack];
        Times {
            links: held.map(|held| wire.max((wire + packets * held) / link.circuits)),
            engine,
            received: (packets * interface.receive_ns).min(transfer),
            transfer,
            // The last packet is on its way as soon as it is out, when the engine or the circuit is not yet free.
            turn: if transfer > wire {
                let last = self.last_ns(rules, wire / packets);
                (self.turn_ns(network, rules, route) - (transfer / packets - last)).max(0.0)
            } else {
                self.turn_ns(network, rules, route)
            },
        }
    }

    /// The last packet on a link: what the others have left over; the `mean` of all where lengths vary.
    fn last_ns(&self, rules: &Rules, mean: f64) -> f64 {
        let Rules { link, interface } = rules;
        if !matches!(self.sizes.spread, Spread::Fixed) {
            return mean;
        }
        let others = self.packets(interface.payload) - 1.0;
        let left = self.padded(interface.padding) - others * interface.payload;
        (left + interface.overhead) / link.bandwidth
    }

    /// What one needs beside its transfer: to be handed over, the way of its head, and that of the last
    /// acknowledgement, or of the request of a read and its turnaround.
    pub fn turn_ns(&self, network: &NetworkSpec, rules: &Rules, route: Route) -> f64 {
        let nic = &network.nic;
        let (way, back) = route.header_and_acknowledgement(rules);
        let request = rules.packet_ns(nic.request.get() as f64) + way + ns(nic.read_turnaround);
        rules.interface.software_ns + way + (1.0 - self.reads) * back + self.reads * request
    }
}

/// The route of a message through a network; a mean over several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    pub switches: f64,
    /// What a signal takes along its links, in ns.
    pub delay: f64,
}

impl Route {
    /// Time of a header, and of an acknowledgement back if there is one, in ns.
    pub fn header_and_acknowledgement(self, rules: &Rules) -> (f64, f64) {
        let (link, Self { switches, delay }) = (&rules.link, self);
        let back = match link.circuits.is_finite() {
            true => link.acknowledgement_ns + switches * link.acknowledgement_switch_ns + delay,
            false => 0.0,
        };
        (switches * link.switch_ns + delay, back)
    }
}

/// Times of a message, in ns.
pub(crate) struct Times {
    /// Time for which it keeps a link busy, of its node, between switches and of the other node: that of its packets, or
    /// of its circuits divided by the circuits of a link.
    pub links: [f64; 3],
    /// Its packets in the interface that sends them: in its DMA engine, or their circuits over those that it can have.
    pub engine: f64,
    /// By which it delays the engine that receives it, if that is busy.
    pub received: f64,
    /// From its first byte to its last at one place.
    pub transfer: f64,
    /// What is left of [`Message::turn_ns`] when the interface is free for the next.
    pub turn: f64,
}
