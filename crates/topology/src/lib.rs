//! Graphs, hypercubes, routing, I/O-node placement, deadlock check, importers.
//!
//! Nodes are dense `u32` indices, directed links dense `usize` indices. The crate depends on
//! neither time nor engines. Every result depends on its arguments alone: no random state, no
//! clock, no iteration over hash tables.
//!
//! Contents:
//! - [`Hypercube`]: addresses and e-cube routes of the PE network;
//! - [`IncompleteHypercube`]: addresses and routes for any number of nodes, as in the network of
//!   the I/O nodes;
//! - [`placement`]: the PEs with an I/O node, and the I/O node that serves each PE;
//! - [`deadlock`]: the channel-dependency check;
//! - [`CubeFaults`], [`FaultyCube`]: failed nodes and links, and routes around them;
//! - [`BroadcastTree`]: broadcasts from one node to all nodes;
//! - [`graph`]: networks of any form, read from files;
//! - [`switches`]: networks of switches in any form, and routes through them;
//! - [`rings`]: fabrics of directed rings, and routes over them;
//! - [`trees`]: fat trees, and routes through them;
//! - [`Wiring`], [`Dragonfly`]: nodes and switches joined by cables;
//! - [`distance`]: hops, histograms of them, and connected parts, for all of these networks.
//!
//! ```
//! use isthmus_topology::{Hypercube, IncompleteHypercube, Placement};
//!
//! let cube = Hypercube::new(7)?;
//! let placement = Placement::combined(cube);
//! assert_eq!(placement.io_node_count(), 16);
//! assert!(placement.coverage().is_perfect());
//!
//! // PE 5 uses the I/O node at PE 7, and the I/O nodes form a 4-cube.
//! assert_eq!(placement.server_pe(5), 7);
//! let io_cube = IncompleteHypercube::new(placement.io_node_count())?;
//! let hops: Vec<_> = cube.route(5, 7).map(|hop| hop.dimension).collect();
//! assert_eq!((hops, io_cube.dimension()), (vec![1], 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adjacency;
mod broadcast;
pub mod deadlock;
pub mod distance;
mod dragonfly;
mod faults;
pub mod graph;
mod hypercube;
mod incomplete;
mod lanes;
mod matching;
pub mod placement;
mod ranks;
pub mod rings;
pub mod switches;
pub mod trees;
mod wiring;

pub use adjacency::Adjacency;
pub use broadcast::{BroadcastError, BroadcastTree};
pub use dragonfly::{Dragonfly, DragonflyError};
pub use faults::{
    CubeFaults, DisconnectedError, FaultError, FaultyCube, FaultyRoute, RouteError, RoutingScheme,
};
pub use graph::{Graph, GraphError, GraphProblem};
pub use hypercube::{DimensionError, Hop, Hypercube, MAX_DIMENSION, Route};
pub use incomplete::{IncompleteHypercube, NodeCountError};
pub use lanes::Lanes;
pub use placement::{Budget, Coverage, DominatingSet, Placement, PlacementError};
pub use wiring::Wiring;
