//! The links of a network and their ends, computed again at every step, without tables.

use super::state::Flight;
use isthmus_kernel::Cycles;
use isthmus_topology::trees::{Ascent, Tree, Vertex};
use std::ops::Range;

/// What is known of links when a packet is injected: how much of each is taken, and how much waits
/// for it.
pub struct Seen<'a> {
    pub taken: &'a dyn Fn(u32) -> u64,
    pub waiting: &'a dyn Fn(u32) -> u64,
}

/// A network. Its vertices are its nodes, then its switches.
pub trait Network {
    fn nodes(&self) -> u32;

    fn links(&self) -> u32;

    /// The vertex that a link leads to.
    fn target(&self, link: u32) -> u32;

    /// The port at which a link enters its switch, and the ports of that.
    fn port(&self, link: u32) -> (u32, u32);

    /// The links of a node.
    fn of_node(&self, node: u32) -> Range<u32>;

    /// The links that a packet may take from a vertex, and the class of their channels.
    fn wanted(&self, at: u32, flight: &Flight, lot: u64) -> (Range<u32>, u32);

    /// Whether its choices by lot are one with those among equals.
    fn plain(&self) -> bool {
        false
    }

    /// Classes of channels.
    fn classes(&self) -> u32 {
        1
    }

    /// Ticks that a signal takes from one end of a link to the other.
    fn length(&self, _link: u32) -> Cycles {
        0
    }

    /// What a packet that is injected remembers for its way.
    fn set_out(&self, _flight: &Flight, _seen: &Seen<'_>, _lot: u64) -> Option<u32> {
        None
    }
}

/// The one of `count` that a lot falls on.
pub fn drawn(count: usize, lot: u64) -> usize {
    ((u128::from(lot) * count as u128) >> 64) as usize
}

impl Network for (Tree, Ascent) {
    fn plain(&self) -> bool {
        true
    }

    fn nodes(&self) -> u32 {
        self.0.node_count()
    }

    fn links(&self) -> u32 {
        self.0.link_count()
    }

    fn target(&self, link: u32) -> u32 {
        match self.0.target(link) {
            Vertex::Node(node) => node,
            Vertex::Switch(switch) => self.0.node_count() + switch,
        }
    }

    fn port(&self, link: u32) -> (u32, u32) {
        let at = self.0.target(link);
        let mut outputs: Vec<u32> = self.0.all_descents(at).collect();
        outputs.extend(self.0.ascents(at));
        let back = self.0.reverse(link);
        let port = outputs.iter().position(|&link| link == back).unwrap();
        (port as u32, outputs.len() as u32)
    }

    fn of_node(&self, node: u32) -> Range<u32> {
        self.0.ascents(Vertex::Node(node))
    }

    fn wanted(&self, at: u32, flight: &Flight, lot: u64) -> (Range<u32>, u32) {
        let (tree, ascent) = (&self.0, self.1);
        let (from, to) = (flight.from, flight.to);
        let switch = at.checked_sub(tree.node_count());
        let vertex = switch.map_or(Vertex::Node(at), Vertex::Switch);
        let below = switch.and_then(|switch| Some((switch, tree.descents(switch, to)?)));
        let (all, chosen) = match below {
            None => (tree.ascents(vertex), tree.chosen(ascent, from, to, vertex)),
            Some((switch, run)) => (run, tree.chosen_descent(ascent, from, to, switch)),
        };
        let links = match (chosen, ascent) {
            (Some(link), _) => link..link + 1,
            (None, Ascent::Random) => {
                let link = all.start + drawn(all.len(), lot) as u32;
                link..link + 1
            }
            (None, _) => all,
        };
        (links, 0)
    }
}
