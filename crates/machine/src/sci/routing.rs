//! Choice of the routes of packets in SCI fabrics.

use crate::sci::build::Machine;
use isthmus_kernel::{Stream, Streams, Uniform};
use isthmus_sci::{Class, Packet};
use isthmus_topology::rings::Segment;
use std::sync::Arc;

/// Selects the route of each packet. Of several equally good routes, it takes one at random, by the
/// random stream of a node.
#[derive(Debug)]
pub(super) struct Router {
    machine: Arc<Machine>,
    /// Random stream of each node for the choice among equal routes.
    route_streams: Vec<Stream>,
    route: Vec<Segment>,
}

impl Router {
    /// Create a router that draws its choices from the random stream "route" of each node.
    pub fn new(machine: Arc<Machine>, streams: Streams) -> Self {
        Self {
            route_streams: (0..machine.fabric().node_count())
                .map(|node| streams.stream("route", node.into()))
                .collect(),
            route: Vec::new(),
            machine,
        }
    }

    /// Return the SCI fabric, with its routes, on which the router works.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Create a packet from one node to another, on one of the routes that the routing allows.
    #[inline]
    pub fn packet<T>(
        &mut self,
        from: u32,
        to: u32,
        class: Class,
        symbols: u32,
        tag: T,
    ) -> Packet<'_, T> {
        let stream = &mut self.route_streams[from as usize];
        self.route.clear();
        let choose = &mut |below| Uniform::below(below).draw(stream);
        (self.machine.routes()).route(from, to, choose, &mut self.route);
        Packet {
            node: from,
            class,
            symbols,
            route: &self.route,
            tag,
        }
    }
}
