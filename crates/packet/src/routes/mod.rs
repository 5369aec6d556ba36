//! Routes of packets through a network.
//!
//! A network has nodes and switches, its vertices: the nodes come first, from 0, the switches after
//! them. Its links are directed and numbered from 0. The links out of one vertex have consecutive
//! numbers. A packet may leave a vertex over a [`Run`] of consecutive links: it waits for all of them
//! together and takes the best when it is served.

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

/// A network and the routes that packets take through it.
///
/// Example: a ring of switches, with a node at each. Packets take the direction whose first link is
/// occupied less. Links that cross switch 0 start the second class of channels, so that no cycle of
/// waiting can close:
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
///     fn longest_route(&self) -> u32 {
///         self.1 + 1 // all but one link of the ring, plus a link at each node
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
///     fn node_links(&self, node: u32) -> Run {
///         Run::one(node)
///     }
///     fn initial_state(&self, _: u32, _: u32) -> u16 {
///         0 // set at injection
///     }
///     fn first_links(&self, header: &mut Header, _: impl FnOnce() -> u64) -> Run {
///         self.node_links(header.from)
///     }
///     fn choose_route(&self, header: &Header, view: &impl LocalView, _: impl FnOnce() -> u64) -> u16 {
///         let occupied = |up| view.occupied(self.around(header.from, up));
///         u16::from(occupied(true) <= occupied(false))
///     }
///     fn next_links(&self, header: &mut Header, at: End, _: impl FnOnce() -> u64) -> Run {
///         let (switch, up) = (at.vertex - self.1, header.state == 1);
///         if switch == header.to {
///             header.class = 0;
///             return Run::one(self.0.reverse(switch)); // node and cable have the number of the switch
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
/// The engine calls for the next links of a packet when the packet has got a link. It calls for the
/// first links whenever the node tries to inject the packet, so results must depend on the arguments
/// only.
pub trait Routes: Debug {
    /// Whether the network is plain: it has one class of channels, links without length, and no
    /// choice of route at injection. The engine then omits the code for these.
    const PLAIN: bool = false;

    /// Return the number of nodes.
    fn node_count(&self) -> u32;

    /// Return the number of links.
    fn link_count(&self) -> u32;

    /// Return the number of links of the longest route, including the links out of the source and into
    /// the destination.
    fn longest_route(&self) -> u32;

    /// Return the vertex and port to which a link leads.
    fn end(&self, link: u32) -> End;

    /// Return the propagation delay of a link in ticks, in addition to [`Rules::hop`]. 0 by default.
    ///
    /// [`Rules::hop`]: crate::Rules::hop
    fn length(&self, _link: u32) -> Cycles {
        0
    }

    /// Return the number of classes of virtual channels, 1 or more. Every link has [`Rules::channels`]
    /// of each class. 1 by default.
    ///
    /// [`Rules::channels`]: crate::Rules::channels
    fn classes(&self) -> u32 {
        1
    }

    /// Return all runs for which packets may wait at a switch, including runs to its nodes. Each
    /// run comes with the number of ports of its switch, and every [`End::port`] must be below that
    /// number. No link may be in two runs, or both in a run and in [`Routes::node_links`].
    fn runs(&self) -> impl Iterator<Item = (Run, u32)>;

    /// Return all links out of a node.
    fn node_links(&self, node: u32) -> Run;

    /// Return the initial route state of the headers of all packets from one node to another.
    fn initial_state(&self, from: u32, to: u32) -> u16;

    /// Return the links over which a packet may leave its source node. They must be among [`Routes::node_links`]. The
    /// engine repeats the call until the packet is injected. `random` is for random choices.
    fn first_links(&self, header: &mut Header, random: impl FnOnce() -> u64) -> Run;

    /// Return the route state of a packet that is injected. Here a network chooses among routes by
    /// the load of the links at the switch of the source. By default the state stays unchanged.
    fn choose_route(
        &self,
        header: &Header,
        _view: &impl LocalView,
        _random: impl FnOnce() -> u64,
    ) -> u16 {
        header.state
    }

    /// Return the links that a packet may take from the switch at `at`; they must be one of
    /// [`Routes::runs`]. `header.links` is the number of links that the packet has got so far.
    /// `header.class` is the class of the channel on its last link; set it to the class for the
    /// returned links. `random` is for random choices.
    ///
    /// Packets hold a channel while they wait for the next. The classes must exclude cycles of waiting
    /// packets. The engine does not check that ([`deadlock`](isthmus_topology::deadlock) does).
    fn next_links(&self, header: &mut Header, at: End, random: impl FnOnce() -> u64) -> Run;
}

/// The vertex and port to which a link leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct End {
    /// The vertex that the link leads to.
    pub vertex: u32,
    /// The port of the switch at which the link enters, from 0.
    pub port: u32,
}

/// A range of links with consecutive numbers. A packet may take any of them towards its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Number of the first link of the run.
    pub first: u32,
    /// The number of links of the run.
    pub links: u32,
}

impl Run {
    /// Return a run of one link.
    #[inline]
    pub fn one(link: u32) -> Self {
        Self {
            first: link,
            links: 1,
        }
    }

    /// Return the links in the order of their numbers.
    #[inline]
    pub fn iter(self) -> std::ops::Range<u32> {
        self.first..self.first + self.links
    }
}

/// The fields of a packet that the switches read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The source node of the packet.
    pub from: u32,
    /// The destination node of the packet.
    pub to: u32,
    /// Number of links that were granted to the packet so far.
    pub links: u16,
    /// State of the route, as [`Routes`] defines it: see [`Routes::initial_state`].
    pub state: u16,
    /// Class of the channels that the packet may take, from 0.
    pub class: u16,
}

/// The load of the links at the switch of a packet's source, as a routing rule reads it. Injections
/// of the present tick are not included.
pub trait LocalView {
    /// Return the spent credits of a link: the bytes that were sent over it and, as far as the
    /// sender knows, have not left the buffer behind it. With circuits, return the number of its
    /// lanes (virtual channels) in use. Packets in an output buffer do not count.
    fn occupied(&self, link: u32) -> u64;

    /// Return the total bytes of the packets that wait at the switch for a link of the run that starts with link
    /// `first`. With circuits, return the number of these packets.
    fn waiting(&self, first: u32) -> u64;
}

impl End {
    /// Return the vertex to which a link leads, and the port of the link at this vertex.
    pub fn of(wiring: &Wiring, link: u32) -> Self {
        let vertex = wiring.target(link);
        Self {
            vertex,
            port: wiring.reverse(link) - wiring.out_of(vertex).start,
        }
    }
}

/// Return the index below `count` that a random number selects uniformly: see [`crate::tie`].
#[inline]
pub fn pick(count: u32, random: u64) -> u32 {
    ((u128::from(random) * u128::from(count)) >> 64) as u32
}

/// Maximum number of links of a network. It follows from the number of bits of a link number in an
/// event.
const LINKS_MAX: u32 = 1 << 28;
/// Maximum propagation delay of a link in ticks.
pub const LENGTH_MAX: Cycles = 1 << 40;

/// Check that the links, runs and counts of a network are consistent, as far as possible before a
/// run.
pub(crate) fn check<W: Routes>(routes: &W) -> Result<(), Error> {
    let wrong = |what, link| Err(Error::Network { what, link });
    let links = routes.link_count();
    if links >= LINKS_MAX {
        return wrong("2^28 links or more", links.into());
    }
    if routes.longest_route() > u16::MAX.into() {
        return wrong("a way of 2^16 links or more", routes.longest_route().into());
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
    let mut used = vec![false; links as usize];
    let nodes = (0..routes.node_count()).map(|node| routes.node_links(node));
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
        for link in &mut used[first as usize..end as usize] {
            if std::mem::replace(link, true) {
                return wrong("a link in two runs", first.into());
            }
        }
    }
    Ok(())
}
