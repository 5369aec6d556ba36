//! Nodes and links of a network, and the rates at which messages of each class cross them.

use super::Train;
use std::collections::BTreeMap;

/// A class of messages: their packets, and the order in which nodes send them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// The packets of a message of the class.
    pub train: Train,
    /// Whether a node interleaves the packets of messages of this class with those of its other messages. Otherwise the
    /// node sends one message after another.
    pub by_turns: bool,
    /// Whether each destination requests the next message only after the previous one has arrived.
    pub requested_one_by_one: bool,
}

/// A link of a route, with the channel that a packet uses on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// Number of the first link of the bundle (parallel links used as one) to which the link belongs.
    pub link: u32,
    /// Number of links in the bundle (parallel links used as one).
    pub width: u32,
    /// Number of the class of channels that the packet uses.
    pub channel: u16,
    /// Time for which a circuit holds a channel of the link beyond the packet time, in ns.
    pub held: f64,
}

/// Resources that a packet holds at a switch while it waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Channels {
    /// The packet holds a slot of a buffer. The value is the number of FIFO channels of each link; the packet uses one
    /// of them.
    Buffers(f64),
    /// The packet holds a circuit: one of the `channels` channels of its class on each link of its route.
    Circuits {
        /// Number of channels of each class on a link.
        channels: f64,
        /// Maximum number of packets that one node has in flight at a time.
        in_flight: f64,
    },
}

/// Circuits of the messages that arrive over one link: messages per ns of each class, and the sum of the times for
/// which their circuits hold channels beyond the packet times.
#[derive(Debug, Default, Clone)]
pub(super) struct Circuits {
    pub(super) rates: Vec<f64>,
    pub(super) held: Vec<f64>,
}

/// Size and delay of the buffer behind a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Transmission time of the packets that fill the buffer, in ns.
    pub room: f64,
    /// Time from the start of a packet on the link until the sender knows that the packet's space in the buffer is free
    /// again, in ns, if packets do not wait in the buffer.
    pub round: f64,
}

/// Load of the nodes and links of a network by messages.
#[derive(Debug, Default)]
pub struct Network {
    classes: usize,
    /// For each node, the messages of each class that it sends per ns.
    pub(super) nodes: BTreeMap<u32, Vec<f64>>,
    /// For each node and last link of a route, the messages of each class per ns.
    pub(super) sent_to: BTreeMap<(u32, u32), Vec<f64>>,
    /// For each next link and previous link, the messages of each class that cross from one to the other per ns.
    pub(super) crossings: BTreeMap<(u32, u32), Vec<f64>>,
    /// For each bundle (parallel links used as one) of several links, their number, by the first link.
    width: BTreeMap<u32, u32>,
    /// For each link, the buffer behind it.
    pub(super) buffers: BTreeMap<u32, Buffer>,
    /// For each link and class of channels, and for each previous link, the circuits of the messages.
    pub(super) circuits: BTreeMap<(u32, u16), BTreeMap<u32, Circuits>>,
}

impl Network {
    /// Return a network without messages, for `classes` classes.
    pub fn new(classes: usize) -> Self {
        Self {
            classes,
            ..Self::default()
        }
    }

    /// Add the load of `rate` messages per ns of a class that a node sends over `links`.
    pub fn add(&mut self, class: usize, rate: f64, node: u32, links: &[Hop]) {
        let count = self.classes;
        let add = |rates: &mut Vec<f64>, rate: f64| {
            rates.resize(count, 0.0);
            rates[class] += rate;
        };
        add(self.nodes.entry(node).or_default(), rate);
        if let Some(last) = links.last() {
            add(self.sent_to.entry((node, last.link)).or_default(), rate);
        }
        for pair in links.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            add(
                self.crossings.entry((to.link, from.link)).or_default(),
                rate,
            );
            let circuits = self.circuits.entry((to.link, to.channel)).or_default();
            let circuits = circuits.entry(from.link).or_default();
            add(&mut circuits.rates, rate);
            add(&mut circuits.held, rate * to.held);
        }
        for hop in links.iter().filter(|hop| hop.width > 1) {
            self.width.insert(hop.link, hop.width);
        }
    }

    /// Multiply all rates by a factor.
    pub fn scale(&mut self, by: f64) {
        let circuits = self.circuits.values_mut().flat_map(BTreeMap::values_mut);
        let circuits = circuits.flat_map(|of| [&mut of.rates, &mut of.held]);
        let crossings = self.crossings.values_mut();
        let nodes = self.nodes.values_mut().chain(self.sent_to.values_mut());
        for rates in nodes.chain(crossings).chain(circuits) {
            rates.iter_mut().for_each(|rate| *rate *= by);
        }
    }

    /// Return the messages per ns of each node and class, as (node, class, rate).
    pub fn sources(&self) -> impl Iterator<Item = (u32, usize, f64)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(&node, rates)| {
            let each = rates.iter().copied().enumerate();
            each.map(move |(class, rate)| (node, class, rate))
        })
    }

    /// Set the size and delay of the buffer behind a link.
    pub fn buffer(&mut self, link: u32, buffer: Buffer) {
        self.buffers.insert(link, buffer);
    }

    /// Return whether any bundle (parallel links used as one) has several links. The computed waits for such bundles
    /// are up to 25% below those of the simulation.
    pub fn has_wide_links(&self) -> bool {
        self.width.values().any(|&width| width > 1)
    }

    /// Return the number of links in the bundle with this first link.
    pub(super) fn width(&self, link: u32) -> f64 {
        self.width.get(&link).copied().unwrap_or(1).into()
    }
}

#[cfg(test)]
pub(super) mod examples {
    use super::{Class, Hop};
    use crate::trains::{Packets, Train};

    /// Return a class of messages for tests: each message has `packets` packets, each of which takes 1 ns.
    pub(in crate::trains) fn class(packets: f64) -> Class {
        let packets = Packets {
            probability: 1.0,
            full: packets - 1.0,
            full_ns: 1.0,
            full_pace_ns: 1.0,
            last_ns: 1.0,
            last_pace_ns: 1.0,
        };
        Class {
            train: Train::new([packets]).unwrap(),
            by_turns: false,
            requested_one_by_one: false,
        }
    }

    /// Return a hop over a link for tests: a single link with one class of channels.
    pub(in crate::trains) fn hop(link: u32) -> Hop {
        Hop {
            link,
            width: 1,
            channel: 0,
            held: 0.0,
        }
    }
}
