//! The machine models that `machine.kind` of a scenario selects, such as hypercubes, SCI rings and fat trees: the
//! format of their scenario files, their construction and their measures.
//!
//! Each model is a module here and a row of [`KINDS`].
//!
//! ```
//! use isthmus_kinds::KINDS;
//!
//! let text = r#"
//!     version = 1
//!     name = "locality"
//!     [machine]
//!     kind = "hypercube"
//!     dimension = 7
//!     [workload]
//!     interarrival = "0.156 ms"
//!     [sweep]                                  # points are the product of the axes
//!     "workload.locality" = { from = 0, to = 1, points = 6 }
//!     [[sweep.network]]                        # an axis of variants
//!     label = "no I/O network"
//!     machine.lanes.io_link = 0
//!     [[sweep.network]]
//!     label = "two lanes, three to the PEs"
//!     machine.lanes.io_link = 2
//!     machine.lanes.io_to_pe = 3
//! "#;
//! let scenario = KINDS.parse(text, "locality.toml", &["seed=7".to_owned()])?;
//! assert_eq!(scenario.points().len(), 12);
//!
//! let error = KINDS.parse(text, "locality.toml", &["machine.lanes.pe=0".to_owned()]);
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "override `machine.lanes.pe=0`: machine.lanes.pe: 0 lanes carry nothing; give 1 or more",
//! );
//! # Ok::<(), isthmus_scenario::ScenarioError>(())
//! ```
//!
//! `machine.kind` selects the other fields of `[machine]` and `[workload]`, and the Rust types of these tables:
//!
//! ```
//! use isthmus_kinds::KINDS;
//! use isthmus_scenario::StopRule;
//! use isthmus_workload::packets::spec::PacketTraffic;
//!
//! let text = r#"
//!     version = 1
//!     name = "torus"
//!     [machine]
//!     kind = "sci"
//!     fabric = "bidirectional-torus"
//!     size = "6x6"
//!     [sweep]
//!     "workload.load" = { from = "2 GB/s", to = "34 GB/s", points = 9 }   # of all nodes together
//!     [stop]
//!     rule = "fixed"
//!     time = "200 us"
//! "#;
//! let scenario = KINDS.parse(text, "torus.toml", &[])?;
//! let traffic: &PacketTraffic = scenario.workload.expect();
//! assert_eq!(traffic.load, "2 GB/s".parse()?);
//! assert!(matches!(scenario.stop.rule, StopRule::FixedTime { .. }));
//!
//! let error = KINDS.parse(text, "torus.toml", &["workload.locality=0.2".to_owned()]);
//! assert!(error.unwrap_err().hint.starts_with("it belongs to machine.kind = \"hypercube\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file may have several named tables, such as jobs. An axis can run different combinations of them:
//!
//! ```
//! use isthmus_kinds::KINDS;
//! use isthmus_workload::jobs::spec::JobsTraffic;
//!
//! let text = r#"
//!     version = 1
//!     name = "interference"
//!     [machine]
//!     kind = "fat-tree"
//!     arity = 4
//!     levels = 3
//!     [workload]
//!     servers = { placement = "distributed", count = 8 }
//!     [workload.jobs.compute]
//!     traffic = "uniform"
//!     nodes = "part 1 of 2"
//!     [workload.jobs.io]
//!     traffic = "io"
//!     nodes = "part 2 of 2"
//!     load = 0.3                              # of what a node can send
//!     [sweep]
//!     workload.active = "pairs"               # each alone, then both
//!     workload.jobs.io.load = [0.1, 0.3, 0.5]
//! "#;
//! let scenario = KINDS.parse(text, "interference.toml", &[])?;
//! let sets: Vec<&str> = scenario.axes[0].values.iter().map(|set| set.text.as_str()).collect();
//! assert_eq!(sets, ["compute", "io", "compute + io"]);
//! let first = &scenario.points()[0];
//! let jobs: &JobsTraffic = first.workload.expect();
//! assert!(jobs.jobs[0].active && !jobs.jobs[1].active);
//! # Ok::<(), isthmus_scenario::ScenarioError>(())
//! ```

// Converts an offered load to a bandwidth and back.
mod bandwidths;
// Scenario tables that describe disks and other storage devices.
mod devices;
// Lists the states of a machine after single failures and pairs of failures.
mod failures;
pub mod fattree;
pub mod graph;
pub mod hypercube;
pub mod interface;
mod jobs;
// Computes the send rate of clients that have a limited number of outstanding messages.
mod outstanding;
pub mod packets;
// Scenario fields that all kinds of machine share: those of runs and of searches for saturation.
mod runs;
pub mod sci;
// Types of values in scenario tables.
mod values;

use isthmus_experiment::{Kinds, Row};

/// Table of all machine models, in the order of the reference manual. SCI fabrics and hypercubes have two rows each,
/// because their scenario files with jobs have a different format.
pub static KINDS: Kinds = Kinds::new(&[
    Row::of::<hypercube::Hypercube>(),
    Row::of::<sci::Sci>(),
    Row::of::<fattree::FatTree>(),
    Row::of::<graph::Graph>(),
    Row::of::<interface::Interface>(),
    Row::of::<sci::SciJobs>(),
    Row::of::<hypercube::HypercubeJobs>(),
]);
