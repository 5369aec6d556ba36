//! Where packets may go.
//!
//! A network has nodes and switches, its vertices: the nodes come first, from 0, the switches after
//! them. Its links are directed and numbered from 0, those out of one vertex one after another. What
//! a packet may take on from a vertex is a [`Run`] of links beside one another; it waits for all of
//! them together and takes the best when it is served.

mod dragonfly;
mod table;
mod tree;

use isthmus_kernel::Cycles;
use isthmus_topology::Wiring;
use std::fmt::Debug;

pub use dragonfly::{Dragonfly, Routing};
pub use table::{Hop, Rule, Table, TableError};
pub use tree::FatTree;

/// A network, and how packets find their way through it.
///
/// The engine asks for a packet's next links when it has got a link, and for its first ones whenever
/// its node tries to inject it; so answers depend on nothing but the arguments.
pub trait Ways: Debug {
    /// Whether there is one class of channels, no link has a length, and no way is chosen at the
    /// injection: the engine then leaves out what serves those.
    const PLAIN: bool = false;

    /// Number of nodes.
    fn node_count(&self) -> u32;

    /// Number of links.
    fn link_count(&self) -> u32;

    /// Links of the longest way, 1 or more.
    fn longest(&self) -> u32;

    /// Where a link leads.
    fn end(&self, link: u32) -> End;

    /// Ticks that a signal takes from one end of a link to the other, beside [`Rules::hop`]. None by
    /// default.
    ///
    /// [`Rules::hop`]: crate::Rules::hop
    fn length(&self, _link: u32) -> Cycles {
        0
    }

    /// Classes of virtual channels, 1 or more, each of [`Rules::channels`] on every link. One by
    /// default.
    ///
    /// [`Rules::channels`]: crate::Rules::channels
    fn classes(&self) -> u32 {
        1
    }

    /// All runs that packets may wait for at a switch, and the ports of that switch. No link is in
    /// two of them.
    fn runs(&self) -> impl Iterator<Item = (Run, u32)>;

    /// All links of a node.
    fn of_node(&self, node: u32) -> Run;

    /// What the headers of all packets from one node to another have in common, to begin with.
    fn state(&self, from: u32, to: u32) -> u16;

    /// The links that a packet may take from its node. `lot` decides where chance does.
    fn first(&self, header: &mut Header, lot: impl FnOnce() -> u64) -> Run;

    /// A packet is injected: what is left to decide about its way, with a look at the links of the
    /// switches beside its node. Nothing by default.
    fn set_out(&self, _header: &mut Header, _view: &impl LocalView, _lot: impl FnOnce() -> u64) {}

    /// The links that a packet may take from the switch to which its last one leads; the class in
    /// its header is that of the last one's channel, and then that of theirs. `lot` decides where
    /// chance does.
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
    /// The class of the channels that it may take, from 0.
    pub class: u16,
}

/// What is known of a network when a packet is injected, before anything of that is done.
pub trait LocalView {
    /// From when on the transmitter of a link is free.
    fn free_at(&self, link: u32) -> Cycles;

    /// Bytes that were sent over a link and are not known to have left the buffer behind it; with
    /// circuits, how many hold its lanes.
    fn taken(&self, link: u32) -> u64;

    /// Bytes of the packets whose headers wait for the run that begins with this link; with circuits,
    /// how many wait.
    fn waiting(&self, first: u32) -> u64;
}

/// Where a link of a wiring leads: its port is that of the link of the same cable which leads back.
fn end(wiring: &Wiring, link: u32) -> End {
    let vertex = wiring.target(link);
    End {
        vertex,
        port: wiring.reverse(link) - wiring.out_of(vertex).start,
    }
}

/// The one of `count` that a lot falls on: see [`crate::tie`].
#[inline]
pub(crate) fn one_of(count: u32, lot: u64) -> u32 {
    ((u128::from(lot) * u128::from(count)) >> 64) as u32
}
