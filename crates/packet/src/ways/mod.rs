//! Where packets may go.
//!
//! A network has nodes and switches, its vertices: the nodes come first, from 0, the switches after
//! them. Its links are directed and numbered from 0, those out of one vertex one after another. What
//! a packet may take on from a vertex is a [`Run`] of links beside one another; it waits for all of
//! them together and takes the best when it is served.

mod tree;

use std::fmt::Debug;

pub use tree::FatTree;

/// A network, and how packets find their way through it.
///
/// The engine asks for a packet's next links when it has got a link, and for its first ones whenever
/// its node tries to inject it; so answers depend on nothing but the arguments.
pub trait Ways: Debug {
    /// Number of nodes.
    fn node_count(&self) -> u32;

    /// Number of links.
    fn link_count(&self) -> u32;

    /// Links of the longest way, 1 or more.
    fn longest(&self) -> u32;

    /// Where a link leads.
    fn end(&self, link: u32) -> End;

    /// All runs that packets may wait for at a switch, and the ports of that switch. No link is in
    /// two of them.
    fn runs(&self) -> impl Iterator<Item = (Run, u32)>;

    /// All links of a node.
    fn of_node(&self, node: u32) -> Run;

    /// What the headers of all packets from one node to another have in common, to begin with.
    fn state(&self, from: u32, to: u32) -> u16;

    /// The links that a packet may take from its node. `lot` decides where chance does.
    fn first(&self, header: &mut Header, lot: impl FnOnce() -> u64) -> Run;

    /// The links that a packet may take from the switch to which its last one leads. `lot` decides
    /// where chance does.
    fn next(&self, header: &mut Header, at: End, lot: impl FnOnce() -> u64) -> Run;
}

/// Where a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The vertex.
    pub vertex: u32,
    /// The port of a switch at which it enters, from 0.
    pub port: u32,
}

/// Links beside one another, any of which leads on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The first of them.
    pub first: u32,
    /// How many.
    pub links: u32,
}

impl Run {
    /// A run of one link.
    #[inline]
    pub fn one(link: u32) -> Self {
        Self {
            first: link,
            links: 1,
        }
    }

    /// The links, in the order of their numbers.
    #[inline]
    pub fn iter(self) -> std::ops::Range<u32> {
        self.first..self.first + self.links
    }
}

/// What a packet's header says to the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The node that it comes from.
    pub from: u32,
    /// The node that it goes to.
    pub to: u32,
    /// Links that it has got so far.
    pub links: u16,
    /// What the network's own rule remembers: see [`Ways::state`].
    pub state: u16,
}

/// The one of `count` that a lot falls on: see [`crate::tie`].
#[inline]
pub(crate) fn one_of(count: u32, lot: u64) -> u32 {
    ((u128::from(lot) * u128::from(count)) >> 64) as u32
}
