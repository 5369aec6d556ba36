//! Tests of the topologies, in one program: each file beside this one is a part of it, and what it links is linked once.

mod fat_trees;
mod faulty_routing;
mod graph_files;
mod ring_fabrics;
mod ring_paths;
mod ring_routing;
mod routes;
mod switches;
mod tree_paths;
