//! Parameters of links and network interfaces, as the closed-form estimates for packet networks need them.

use super::Fabric;
use crate::jobs::ns;
use isthmus_analytic::packets::{Bound, Interface, Limit, Link, Rules};
use isthmus_machine::packets::routes::Routes as _;
use isthmus_machine::packets::spec::{NetworkSpec, Switching};

/// Return the link and interface parameters of the closed-form estimates. Virtual channels are divided among `classes`
/// classes; a node uses the channels of one class.
pub(crate) fn rules(spec: &NetworkSpec, classes: u32) -> Rules {
    let nic = &spec.nic;
    let (acknowledgement_ns, acknowledgement_switch_ns, circuits, in_flight) = match spec.switching
    {
        Switching::Circuit {
            acknowledgement,
            acknowledgement_hop,
        } => (
            ns(acknowledgement),
            ns(acknowledgement_hop),
            f64::from(spec.virtual_channels / classes.max(1)),
            f64::from(nic.packets_in_flight),
        ),
        Switching::CutThrough { .. } => (0.0, 0.0, f64::INFINITY, f64::INFINITY),
    };
    Rules {
        link: Link {
            bandwidth: spec.bandwidth.bits_per_s() as f64 / 8e9,
            switch_ns: ns(spec.switch_latency),
            acknowledgement_ns,
            acknowledgement_switch_ns,
            circuits,
        },
        interface: Interface {
            payload: nic.payload.get() as f64,
            overhead: nic.overhead.get() as f64,
            padding: nic.padding.get() as f64,
            in_flight,
            dma_ns: ns(nic.dma_period)
                + ns(nic.dma_block) * (nic.payload.get().div_ceil(nic.padding.get().max(1))) as f64,
            receive_ns: ns(nic.receive_delay),
            software_ns: ns(nic.software_latency),
        },
    }
}

/// Return the number of links that connect each node to switches; it is the same for all nodes.
pub(super) fn node_links(fabric: &impl Fabric) -> f64 {
    f64::from(fabric.routes().node_links(0).links)
}

/// Return the maximum send rate from one node to another over `switches` switches, if all links of the node are used
/// at once.
pub(super) fn sending(fabric: &impl Fabric, mut rules: Rules, switches: u32) -> Bound {
    let links = node_links(fabric);
    rules.link.circuits *= links;
    let bound = rules.one_way(switches);
    if bound.limit != Limit::Wire {
        return bound;
    }
    rules.link.bandwidth *= links;
    rules.one_way(switches)
}
