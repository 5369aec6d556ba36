//! Tests of the kinds of machine, in one program: each file beside this one is a part of it, and what it links is linked once.

mod bad;
mod changes;
mod devices;
mod effects;
mod fat_tree_estimates;
mod fat_tree_runs;
mod faults;
mod good;
mod good_fat_tree;
mod good_sci;
mod graph_limits;
mod graph_runs;
mod graph_scale;
mod hypercube_jobs;
mod intervals;
mod journals;
mod laws;
mod limits;
mod machine;
mod new_kind;
mod quick;
mod reference;
mod reference_page;
mod runs;
mod sci_jobs;
mod sci_runs;
