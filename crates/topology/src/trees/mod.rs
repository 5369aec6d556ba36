//! Fat trees: nodes below levels of switches, with several routes up and one route down.
//!
//! S. Coll, F. Petrini, E. Frachtenberg, A. Hoisie, *Performance evaluation of I/O traffic and
//! placement of I/O nodes on a high performance network*, called the QsNET paper below, describes a
//! k-ary n-tree (F. Petrini, M. Vanneschi, *k-ary n-trees: high performance networks for massively
//! parallel architectures*, IPPS 1997). Other numbers of links up and down give the extended
//! generalised fat trees of S. Öhring, M. Ibel, S. Das, M. Kumar, *On generalized fat trees*, IPPS
//! 1995; parallel links between two switches are E. Zahavi's extension of them (*Fat-tree routing
//! and node ordering providing contention free traffic for MPI global collectives*, JPDC 72(11),
//! 2012).
//!
//! A packet ascends to one of the nearest common ancestors of its two nodes, over any links up, and
//! descends from there. On the way down only one child of each switch leads to the destination.

mod ascent;
mod bundles;
mod error;
mod links;
mod routes;
mod shape;
mod tree;

pub use error::{MAX_LINKS, MAX_NODES, MAX_PORTS, TreesError};
pub use links::{Link, LinkKind};
pub use shape::{Ascent, Ports, Shape};
pub use tree::{Tree, Vertex};
