//! Tests of the machines, in one program: each file beside this one is a part of it, and what it links is linked once.

mod behaviour;
mod cube_jobs;
mod devices;
mod fat_tree_readings;
mod fat_tree_throughput;
mod flit_exact;
mod graph_exact;
mod outstanding;
mod routed;
mod sci_exact;
mod sci_jobs;
mod short_worms;
mod turns;
