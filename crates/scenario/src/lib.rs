//! The versioned experiment file.
//!
//! [`Scenario::parse`] reads a TOML file that describes a machine, its workload, a sweep, what to
//! measure and when to stop, and either returns it whole, every point checked, or one
//! [`ScenarioError`] that says what is wrong, where, and what would be right.
//! [`schema::fields`] lists all fields; it is made from the table that the parser uses.
//!
//! ```
//! use isthmus_scenario::Scenario;
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
//! let scenario = Scenario::parse(text, "locality.toml", &["seed=7".to_owned()])?;
//! assert_eq!(scenario.points().len(), 12);
//!
//! let error = Scenario::parse(text, "locality.toml", &["machine.lanes.pe=0".to_owned()]);
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "override `machine.lanes.pe=0`: machine.lanes.pe: 0 lanes carry nothing; give 1 or more",
//! );
//! # Ok::<(), isthmus_scenario::ScenarioError>(())
//! ```
//!
//! `machine.kind` decides which other fields of `[machine]` and `[workload]` there are, and what
//! [`Machine`] and [`Workload`] hold:
//!
//! ```
//! use isthmus_scenario::{Scenario, StopRule};
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
//! let scenario = Scenario::parse(text, "torus.toml", &[])?;
//! let traffic = scenario.workload.as_packets().expect("the nodes of a fabric send packets");
//! assert_eq!(traffic.load, "2 GB/s".parse()?);
//! assert!(matches!(scenario.stop.rule, StopRule::FixedTime { .. }));
//!
//! let error = Scenario::parse(text, "torus.toml", &["workload.locality=0.2".to_owned()]);
//! assert!(error.unwrap_err().hint.starts_with("it belongs to machine.kind = \"hypercube\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Tables may repeat under names of one's own, and an axis may put them together in turn:
//!
//! ```
//! use isthmus_scenario::Scenario;
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
//! let scenario = Scenario::parse(text, "interference.toml", &[])?;
//! let sets: Vec<&str> = scenario.axes[0].values.iter().map(|set| set.text.as_str()).collect();
//! assert_eq!(sets, ["compute", "io", "compute + io"]);
//! let first = &scenario.points()[0];
//! let jobs = first.workload.as_jobs().expect("the nodes of a tree run jobs");
//! assert!(jobs.jobs[0].active && !jobs.jobs[1].active);
//! # Ok::<(), isthmus_scenario::ScenarioError>(())
//! ```
//!
//! Knows nothing of engines: descriptions are plain values.

mod canonical;
mod changes;
mod control;
mod describe;
mod document;
mod draft;
mod error;
mod fattree;
mod field;
mod held;
mod hypercube;
mod json_kinds;
mod json_schema;
mod kind;
mod kind_schema;
mod kinds;
mod load;
mod machine;
mod named;
mod preset;
mod quantity;
mod resolved;
mod scenario;
pub mod schema;
mod schemas;
mod sci;
mod search;
mod sets;
mod setting;
mod settings;
mod suggest;
mod sweep;
mod tables;
mod vain;
mod value;
mod workload;

pub use changes::Change;
pub use control::{Intervals, Measure, Stop, StopRule, Verdict, Warmup};
pub use error::{Place, ScenarioError};
pub use json_schema::json_schema;
pub use load::Load;
pub use machine::Machine;
pub use resolved::Resolved;
pub use scenario::{POINTS_MAX, Point, Scenario};
pub use search::{Search, SearchLine};
pub use sweep::{Axis, AxisValue};
pub use workload::Workload;
