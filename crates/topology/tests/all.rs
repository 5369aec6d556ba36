//! Tests of the topologies, in one program: each file beside this one is a part of it, and what it links is linked once.
//!
//! The modules of `src` at the end are private. Their unit tests run here, so that the library is not compiled
//! a second time for them.

mod broadcasts;
mod codes;
mod dependencies;
mod distances;
mod dominating;
mod dragonflies;
mod edge_lists;
mod fat_trees;
mod faults;
mod faulty_routing;
mod forwarding;
mod graph_files;
mod graphml;
mod hypercubes;
mod layers;
mod listed_switches;
mod placements;
mod ring_averages;
mod ring_fabrics;
mod ring_failures;
mod ring_paths;
mod ring_routing;
mod routes;
mod shortest;
mod switches;
mod tree_paths;
mod wiring;

use isthmus_topology::{Adjacency, Graph, Hop, Hypercube, IncompleteHypercube, deadlock, distance};

#[path = "../src/faults/base.rs"]
mod base_routes;
#[allow(dead_code)]
#[path = "../src/rings/grid.rs"]
mod grid;
#[allow(dead_code)]
#[path = "../src/matching.rs"]
mod matching;
#[allow(dead_code)]
#[path = "../src/placement/dominating/mod.rs"]
mod placement_search;
#[allow(dead_code)]
#[path = "../src/ranks.rs"]
mod ranks;
