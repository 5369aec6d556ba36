//! Where packets may go.
//!
//! A network has nodes and switches, its vertices: the nodes come first, from 0, the switches after
//! them. Its links are directed and numbered from 0, those out of one vertex one after another. What
//! a packet may take on from a vertex is a [`Run`] of links beside one another; it waits for all of
//! them together and takes the best when it is served.

mod dragonfly;
mod table;
mod tree;

use crate::Error;
use isthmus_kernel::Cycles;
use isthmus_topology::Wiring;
use std::fmt::Debug;

pub use dragonfly::{Dragonfly, Routing};
pub use table::{Hop, Rule, Table, TableError};
pub use tree::FatTree;

/// A network, and how packets find their way through it.
///
/// A ring of switches, a node at each, on which packets go the way whose first link is free sooner. Links
/// that cross switch 0 begin the second class of channels, so that no circle of waiting can close:
///
/// ```
/// use isthmus_packet::routes::{End, Header, LocalView, Run, Routes};
/// use isthmus_topology::Wiring;
///
/// #[derive(Debug)]
/// struct Ring(Wiring, u32);
///
/// impl Ring {
///     fn new(nodes: u32) -> Self {
///         let own = (0..nodes).map(|node| (node, nodes + node));
///         let next = (0..nodes).map(|at| (nodes + at, nodes + (at + 1) % nodes));
///         Self(Wiring::new(nodes, nodes, &own.chain(next).collect::<Vec<_>>()), nodes)
///     }
///
///     /// The link from a switch to the next, or to the one before.
///     fn around(&self, switch: u32, up: bool) -> u32 {
///         let cable = self.1 + if up { switch } else { (switch + self.1 - 1) % self.1 };
///         let link = self.0.forward(cable as usize);
///         if up { link } else { self.0.reverse(link) }
///     }
/// }
///
/// impl Routes for Ring {
///     fn node_count(&self) -> u32 {
///         self.1
///     }
///     fn link_count(&self) -> u32 {
///         self.0.link_count()
///     }
///     fn longest(&self) -> u32 {
///         self.1 + 1 // all but one link of the ring, and those of the two nodes
///     }
///     fn classes(&self) -> u32 {
///         2
///     }
///     fn end(&self, link: u32) -> End {
///         End::of(&self.0, link)
///     }
///     fn runs(&self) -> impl Iterator<Item = (Run, u32)> {
///         (self.1..2 * self.1).flat_map(|switch| self.0.out_of(switch)).map(|link| (Run::one(link), 3))
///     }
///     fn of_node(&self, node: u32) -> Run {
///         Run::one(node)
///     }
///     fn state(&self, _: u32, _: u32) -> u16 {
///         0 // set when it is known which way
///     }
///     fn first(&self, header: &mut Header, _: impl FnOnce() -> u64) -> Run {
///         self.of_node(header.from)
///     }
///     fn set_out(&self, header: &Header, view: &impl LocalView, _: impl FnOnce() -> u64) -> u16 {
///         let taken = |up| view.taken(self.around(header.from, up));
///         u16::from(taken(true) <= taken(false))
///     }
///     fn next(&self, header: &mut Header, at: End, _: impl FnOnce() -> u64) -> Run {
///         let (switch, up) = (at.vertex - self.1, header.state == 1);
///         if switch == header.to {
///             header.class = 0;
///             return Run::one(self.0.reverse(switch)); // node and cable have its number
///         }
///         if switch == 0 && header.from != 0 {
///             header.class = 1;
///         }
///         Run::one(self.around(switch, up))
///     }
/// }
///
/// # use isthmus_kernel::{Engine as _, Ran, RunUntil};
/// # use isthmus_packet::*;
/// # use std::sync::Arc;
/// # struct Count(u32);
/// # impl Handler for Count {
/// #     type Tag = ();
/// #     fn delivered(&mut self, _: &Delivery<()>, _: &mut Offers<()>) {
/// #         self.0 += 1;
/// #     }
/// # }
/// # let switching = Switching::CutThrough { buffer: 64, credit: 1, outputs: None };
/// # let age = Age { from: AgeFrom::Injection, saturates: None, tie: AgeTie::RoundRobin };
/// # let interface = Interface {
/// #     queues: 1, start: 0, packet: 1, packet_block: 0, receive: 0, slice: 1, request: 0, turnaround: 0,
/// # };
/// # let rules = Rules {
/// #     byte: 1, hop: 1, acknowledge: 0, acknowledge_hop: 0, channels: 1, switching,
/// #     adaptive: Adaptive::default(), age, late: None, payload: 60, overhead: 4, block: 1, interface,
/// # };
/// let mut engine = Engine::new(Arc::new(Ring::new(5)), rules, 1)?;
/// for from in 0..5 {
///     for to in (0..5).filter(|&to| to != from) {
///         engine.offer(0, Message { from, to, bytes: 600, kind: Kind::Write, queue: 0, tag: () });
///     }
/// }
/// let mut count = Count(0);
/// assert_eq!(engine.run_until(1_000_000, &mut count), Ran::Idle);
/// assert_eq!(count.0, 20);
/// # Ok::<(), isthmus_packet::Error>(())
/// ```
///
/// The engine asks for a packet's next links when it has got a link, and for its first ones whenever
/// its node tries to inject it; so answers depend on nothing but the arguments.
pub trait Routes: Debug {
    /// Whether there is one class of channels, no link has a length, and no way is chosen at the
    /// injection: the engine then leaves out what serves those.
    const PLAIN: bool = false;

    /// Number of nodes.
    fn node_count(&self) -> u32;

    /// Number of links.
    fn link_count(&self) -> u32;

    /// Links of the longest way, those out of the one node and into the other included.
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

    /// All runs that packets may wait for at a switch, those to its nodes included, and the ports of
    /// that switch: [`End::port`] stays below. No link is in two of them, or in one and a node's.
    fn runs(&self) -> impl Iterator<Item = (Run, u32)>;

    /// All links of a node.
    fn of_node(&self, node: u32) -> Run;

    /// What the headers of all packets from one node to another have in common, to begin with.
    fn state(&self, from: u32, to: u32) -> u16;

    /// The links that a packet may take from its node, of [`Routes::of_node`]. Asked again until the packet
    /// is injected. `lot` decides where chance does.
    fn first(&self, header: &mut Header, lot: impl FnOnce() -> u64) -> Run;

    /// A packet is injected: its state, with what is left to decide about its way by a look at the
    /// links of the switches beside its node. As it is by default.
    fn set_out(&self, header: &Header, _view: &impl LocalView, _lot: impl FnOnce() -> u64) -> u16 {
        header.state
    }

    /// The links that a packet may take from the switch to which its last one leads, one of
    /// [`Routes::runs`]. `header.links` counts that last one; the class is that of its channel, and is to
    /// be that of the returned links. `lot` decides where chance does.
    ///
    /// Packets hold a channel while they wait for the next. Classes must be such that they cannot wait
    /// in a circle; the engine does not check that ([`deadlock`](isthmus_topology::deadlock) does).
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
    /// What the network's own rule remembers: see [`Routes::state`].
    pub state: u16,
    /// The class of the channels that it may take, from 0.
    pub class: u16,
}

/// What is known of a network when a packet is injected, before anything of that is done.
pub trait LocalView {
    /// Bytes that were sent over a link and are not known to have left the buffer behind it: its credits
    /// spent. With circuits, how many hold its lanes. What waits in an output buffer is not among it.
    fn taken(&self, link: u32) -> u64;

    /// Bytes of the packets whose headers wait for the run that begins with this link; with circuits,
    /// how many wait.
    fn waiting(&self, first: u32) -> u64;
}

impl End {
    /// Where a link of a wiring leads: its port is that of the link of the same cable which leads back.
    pub fn of(wiring: &Wiring, link: u32) -> Self {
        let vertex = wiring.target(link);
        Self {
            vertex,
            port: wiring.reverse(link) - wiring.out_of(vertex).start,
        }
    }
}

/// The one of `count` that a lot falls on: see [`crate::tie`].
#[inline]
pub fn drawn(count: u32, lot: u64) -> u32 {
    ((u128::from(lot) * u128::from(count)) >> 64) as u32
}

/// Links that a network may have: events hold their numbers.
const LINKS_MAX: u32 = 1 << 28;
/// Ticks that a signal may take along a link.
pub const LENGTH_MAX: Cycles = 1 << 40;

/// Checks what can be checked of a network beforehand.
pub(crate) fn check<W: Routes>(routes: &W) -> Result<(), Error> {
    let wrong = |what, link| Err(Error::Network { what, link });
    let links = routes.link_count();
    if links >= LINKS_MAX {
        return wrong("2^28 links or more", links.into());
    }
    if routes.longest() > u16::MAX.into() {
        return wrong("a way of 2^16 links or more", routes.longest().into());
    }
    if W::PLAIN && routes.classes() != 1 {
        return wrong(
            "a plain network with several classes",
            routes.classes().into(),
        );
    }
    for link in 0..links {
        let length = routes.length(link);
        if length > LENGTH_MAX || W::PLAIN && length > 0 {
            return wrong("a link that is too long", link.into());
        }
    }
    let mut taken = vec![false; links as usize];
    let nodes = (0..routes.node_count()).map(|node| routes.of_node(node));
    let runs = routes.runs().map(|(run, _)| run).chain(nodes);
    for Run {
        first,
        links: count,
    } in runs
    {
        let end = u64::from(first) + u64::from(count);
        if count == 0 || end > links.into() {
            return wrong(
                "a run of no links, or of links that there are not",
                first.into(),
            );
        }
        for link in &mut taken[first as usize..end as usize] {
            if std::mem::replace(link, true) {
                return wrong("a link in two runs", first.into());
            }
        }
    }
    Ok(())
}
