//! Nodes and links of a network, and the rates at which each class of messages crosses them.

use super::Train;
use std::collections::BTreeMap;

/// A class of messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// The packets of a message.
    pub train: Train,
    /// Whether its messages share their node packet by packet with all other messages there. Otherwise messages are
    /// sent one after another.
    pub by_turns: bool,
    /// Whether each destination requests the next message only after the previous one has arrived.
    pub requested_one_by_one: bool,
}

/// A link of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// First link of its bundle.
    pub link: u32,
    /// Number of links in the bundle.
    pub width: u32,
    /// Class of channels.
    pub channel: u16,
    /// Time for which a circuit holds a channel of the link beyond the packet time, in ns.
    pub held: f64,
}

/// Resources that a packet holds at a switch while it waits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Channels {
    /// A buffer slot of one of this number of channels, each first in, first out.
    Buffers(f64),
    /// One of the `channels` channels on each link of the route. At most `in_flight` packets of one node are in flight.
    Circuits {
        /// Channels per class.
        channels: f64,
        /// Packets per node.
        in_flight: f64,
    },
}

/// Messages per ns of each class that arrive over one link, and the sum of the holding times of their circuits beyond
/// the packet times.
#[derive(Debug, Default, Clone)]
pub(super) struct Circuits {
    pub(super) rates: Vec<f64>,
    pub(super) held: Vec<f64>,
}

/// The buffer behind a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// Transmission time of the packets that fill the buffer, in ns.
    pub room: f64,
    /// Time from the start of a packet on the link until its slot is known to be free again, in ns.
    pub round: f64,
}

/// Load of nodes and links.
#[derive(Debug, Default)]
pub struct Network {
    classes: usize,
    /// Messages of each class per ns from each node.
    pub(super) nodes: BTreeMap<u32, Vec<f64>>,
    /// Messages per ns by node and last link of the route.
    pub(super) sent_to: BTreeMap<(u32, u32), Vec<f64>>,
    /// Messages per ns by the link that they cross next and the link that they come from.
    pub(super) crossings: BTreeMap<(u32, u32), Vec<f64>>,
    /// Number of links in each bundle, by its first link, if more than one.
    width: BTreeMap<u32, u32>,
    /// Buffers behind links.
    pub(super) buffers: BTreeMap<u32, Buffer>,
    /// Circuits by link and class of channels, then by the previous link.
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

    /// Add `rate` messages per ns of a class from a node over `links`.
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

    /// Return for each node and class the messages per ns.
    pub fn sources(&self) -> impl Iterator<Item = (u32, usize, f64)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(&node, rates)| {
            let each = rates.iter().copied().enumerate();
            each.map(move |(class, rate)| (node, class, rate))
        })
    }

    /// Put a buffer behind a link.
    pub fn buffer(&mut self, link: u32, buffer: Buffer) {
        self.buffers.insert(link, buffer);
    }

    /// Return whether bundles of several links exist. Their waits are up to 25% lower than those of the simulation.
    pub fn has_wide_links(&self) -> bool {
        self.width.values().any(|&width| width > 1)
    }

    /// Return the number of links in a bundle.
    pub(super) fn width(&self, link: u32) -> f64 {
        self.width.get(&link).copied().unwrap_or(1).into()
    }
}

#[cfg(test)]
pub(super) mod examples {
    use super::{Class, Hop};
    use crate::trains::{Packets, Train};

    /// Messages of a few packets of 1 ns.
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

    pub(in crate::trains) fn hop(link: u32) -> Hop {
        Hop {
            link,
            width: 1,
            channel: 0,
            held: 0.0,
        }
    }
}
