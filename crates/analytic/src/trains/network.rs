//! The nodes and links of a network, and the rates at which each class of messages crosses them.

use super::Train;
use std::collections::BTreeMap;

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Class {
    /// Its packets.
    pub train: Train,
    /// Whether its messages take turns at their node, packet by packet, with all that are there; otherwise they go
    /// one after another.
    pub by_turns: bool,
    /// Whether each node that they go to waits for one of them before it asks for the next.
    pub asked_one_by_one: bool,
}

/// A link of a route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hop {
    /// The first link of its bundle.
    pub link: u32,
    /// The width of the bundle.
    pub beside: u32,
    /// The class of channels.
    pub channel: u16,
    /// For how long a circuit holds a channel of it beyond the time of the packet, in ns.
    pub held: f64,
}

/// What a packet holds at a switch that it waits at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Channels {
    /// A place of the buffer of one of so many channels, each of them first in, first out.
    Buffers(f64),
    /// One of so many channels of each link on its way; of one node no more packets than `in_flight` are under way.
    Circuits {
        /// Channels of a class.
        channels: f64,
        /// Packets of a node.
        in_flight: f64,
    },
}

/// Messages per ns of each class that come by one link, and the sum of what their circuits hold beyond a packet.
#[derive(Debug, Default, Clone)]
pub(super) struct Circuits {
    pub(super) rates: Vec<f64>,
    pub(super) held: Vec<f64>,
}

/// A buffer behind a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buffer {
    /// The time on the link of the packets that it holds, in ns.
    pub room: f64,
    /// From a packet's start on the link to its place being known to be free again, in ns.
    pub round: f64,
}

/// What is asked of nodes and links.
#[derive(Debug, Default)]
pub struct Network {
    classes: usize,
    /// Messages of each class per ns from each node.
    pub(super) nodes: BTreeMap<u32, Vec<f64>>,
    /// The same by the last link of the route.
    pub(super) sent_to: BTreeMap<(u32, u32), Vec<f64>>,
    /// The same from one link on to another, by the second.
    pub(super) crossings: BTreeMap<(u32, u32), Vec<f64>>,
    /// Links that lie beside the one.
    beside: BTreeMap<u32, u32>,
    /// Buffers behind links.
    pub(super) buffers: BTreeMap<u32, Buffer>,
    /// Circuits by the class of channels and the link that they come by.
    pub(super) circuits: BTreeMap<(u32, u16), BTreeMap<u32, Circuits>>,
}

impl Network {
    /// A network without messages, of so many kinds.
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
        for hop in links.iter().filter(|hop| hop.beside > 1) {
            self.beside.insert(hop.link, hop.beside);
        }
    }

    /// Multiply all rates.
    pub fn scale(&mut self, by: f64) {
        let circuits = self.circuits.values_mut().flat_map(BTreeMap::values_mut);
        let circuits = circuits.flat_map(|of| [&mut of.rates, &mut of.held]);
        let crossings = self.crossings.values_mut();
        let nodes = self.nodes.values_mut().chain(self.sent_to.values_mut());
        for rates in nodes.chain(crossings).chain(circuits) {
            rates.iter_mut().for_each(|rate| *rate *= by);
        }
    }

    /// Each node with a class of which it sends and how many messages per ns.
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

    /// Whether links lie beside one another: their waits are lower than those of the simulation, by up to 25%.
    pub fn has_wide_links(&self) -> bool {
        self.beside.values().any(|&beside| beside > 1)
    }

    /// Links beside one another.
    pub(super) fn width(&self, link: u32) -> f64 {
        self.beside.get(&link).copied().unwrap_or(1).into()
    }
}

#[cfg(test)]
pub(super) mod examples {
    use super::{Class, Hop};
    use crate::trains::{Packets, Train};

    /// Messages of some packets of 1 ns.
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
            asked_one_by_one: false,
        }
    }

    pub(in crate::trains) fn hop(link: u32) -> Hop {
        Hop {
            link,
            beside: 1,
            channel: 0,
            held: 0.0,
        }
    }
}
