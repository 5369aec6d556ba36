//! Times of a job's message on an idle packet network.

use crate::jobs::{Message, ns};
use isthmus_analytic::packets::Rules;
use isthmus_machine::packets::spec::NetworkSpec;
use isthmus_workload::jobs::spec::Spread;

impl Message {
    /// Return the times of one message over `route` on an idle network.
    pub fn times(&self, network: &NetworkSpec, rules: &Rules, route: Route) -> Times {
        let Rules { link, interface } = rules;
        let nic = &network.nic;
        let packets = self.packets(interface.payload);
        let data = self.padded(interface.padding);
        let wire = (data + packets * interface.overhead) / link.bandwidth;
        let blocks = data / interface.padding.max(1.0);
        let engine = packets * ns(nic.dma_period) + blocks * ns(nic.dma_block);
        // The number of open circuits is limited. Each is open for its packet, the header on the route, and the
        // acknowledgement.
        let (header, back) = route.header_and_acknowledgement(rules);
        let circuits = interface.in_flight.min(link.circuits);
        let engine = engine.max((wire + packets * (header + back)) / circuits);
        let transfer = wire.max(engine);
        // Time for which a packet's circuit occupies the first link, a link between switches (on average half of the
        // route is left), and the last link.
        let ack = link.acknowledgement_ns;
        let held = [header + back, (header + back + ack) / 2.0, ack];
        Times {
            links: held.map(|held| wire.max((wire + packets * held) / link.circuits)),
            engine,
            received: (packets * interface.receive_ns).min(transfer),
            transfer,
            // The last packet leaves before the engine or the circuit is free again, so `turn` and `transfer` overlap.
            turn: if transfer > wire {
                let last = self.last_ns(rules, wire / packets);
                (self.turn_ns(network, rules, route) - (transfer / packets - last)).max(0.0)
            } else {
                self.turn_ns(network, rules, route)
            },
        }
    }

    /// Return the time of the last packet of a message on a link, in ns: the packet carries the rest of the message.
    /// If lengths vary, this is `mean`, the mean time of all packets.
    fn last_ns(&self, rules: &Rules, mean: f64) -> f64 {
        let Rules { link, interface } = rules;
        if !matches!(self.sizes.spread, Spread::Fixed) {
            return mean;
        }
        let others = self.packets(interface.payload) - 1.0;
        let left = self.padded(interface.padding) - others * interface.payload;
        (left + interface.overhead) / link.bandwidth
    }

    /// Return the time that a message needs in addition to its transfer, in ns: the software, the header on the
    /// route, and either the last acknowledgement or, for a read, the request and its turnaround.
    pub fn turn_ns(&self, network: &NetworkSpec, rules: &Rules, route: Route) -> f64 {
        let nic = &network.nic;
        let (header, back) = route.header_and_acknowledgement(rules);
        let request = rules.packet_ns(nic.request.get() as f64) + header + ns(nic.read_turnaround);
        rules.interface.software_ns + header + (1.0 - self.reads) * back + self.reads * request
    }
}

/// Length of a message's route through a network, or the mean of several routes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Route {
    /// Number of switches on the route.
    pub switches: f64,
    /// Signal delay of all links of the route together, in ns.
    pub delay: f64,
}

impl Route {
    /// Return the time of a header on the route, and the time of the acknowledgement (0 if there is none), in ns.
    pub fn header_and_acknowledgement(self, rules: &Rules) -> (f64, f64) {
        let (link, Self { switches, delay }) = (&rules.link, self);
        let back = match link.circuits.is_finite() {
            true => link.acknowledgement_ns + switches * link.acknowledgement_switch_ns + delay,
            false => 0.0,
        };
        (switches * link.switch_ns + delay, back)
    }
}

/// Times for which a message occupies the parts of an idle network, in ns.
pub(crate) struct Times {
    /// Time in ns for which the message occupies a link: of the sending node, between switches, and of the receiving
    /// node. This is the time of its packets, or of its circuits divided by the circuits of a link.
    pub links: [f64; 3],
    /// Time for which the message occupies the sending interface: its DMA engine, or its circuits divided by the
    /// circuits of the interface.
    pub engine: f64,
    /// Delay in ns that the message adds to the DMA engine of the receiving node, if that engine is busy.
    pub received: f64,
    /// Time in ns in which all bytes of the message pass one point of its route.
    pub transfer: f64,
    /// Part of [`Message::turn_ns`] that is left when the interface is free for the next message, in ns.
    pub turn: f64,
}
