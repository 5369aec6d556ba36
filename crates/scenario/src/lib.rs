//! The versioned experiment file.
//!
//! [`Scenario::parse`] reads a TOML file that describes a machine, its workload, a sweep, what to
//! measure and when to stop, and either returns it whole, every point checked, or one
//! [`ScenarioError`] that says what is wrong, where, and what would be right.
//! [`Formats::fields`] lists all fields; it is made from the table that the parser uses.
//!
//! Which tables `[machine]` and `[workload]` are decides the kind of machine: a [`Format`](format::Format) with types
//! of its own, of which a program has several in one [`Formats`]. This one is a bus.
//!
//! ```
//! use isthmus_scenario::format::{
//!     Default::{Required, Value}, Describe, Format, Kind, LoadValue, Loads, NoLoad, Own, Problem,
//!     Row, Rows, Settings, Tables, Value as Held,
//! };
//! use isthmus_scenario::{Formats, Scenario};
//! use isthmus_units::{Bandwidth, Time};
//! use std::sync::LazyLock;
//!
//! #[derive(Debug, Clone, PartialEq, Describe)]
//! struct Machine {
//!     /// Nodes on the bus.
//!     #[describe(kind = Kind::whole(2, 64))]
//!     nodes: u32,
//!     /// What it carries.
//!     #[describe(default = "1 GB/s")]
//!     bandwidth: Bandwidth,
//! }
//!
//! #[derive(Debug, Clone, PartialEq, Describe)]
//! struct Work {
//!     /// What all nodes together send.
//!     #[describe(label = "offered load")]
//!     load: Bandwidth,
//! }
//!
//! struct Bus;
//!
//! impl Format for Bus {
//!     const NAME: &'static str = "bus";
//!     const TABLES: Tables = Tables {
//!         machine: || Rows::of::<Machine>("machine"),
//!         workload: || Rows::of::<Work>("workload"),
//!         named: None,
//!         own: OWN,
//!         loads: Loads {
//!             keys: &["workload.load"],
//!             key: "workload.load",
//!             label: "offered load",
//!             unit: "GB/s",
//!             read: |_, value| match value {
//!                 Held::Bandwidth(load) => Ok(load.bits_per_s() as f64 / 8e9),
//!                 _ => Err(NoLoad { problem: "no bandwidth", hint: "give one" }),
//!             },
//!             write: |load| Ok(LoadValue {
//!                 key: "workload.load",
//!                 value: Held::Bandwidth(Bandwidth::from_bits_per_s((load * 8e9) as u64)),
//!                 written: format!("{load} GB/s"),
//!             }),
//!         },
//!         presets: None,
//!         faults: None,
//!     };
//!     type Machine = Machine;
//!     type Work = Work;
//!
//!     fn machine(settings: &Settings) -> Result<Machine, Problem> {
//!         Ok(Machine::read(settings, "machine"))
//!     }
//!
//!     fn work(settings: &Settings, machine: &Machine) -> Result<Work, Problem> {
//!         let work = Work::read(settings, "workload");
//!         if work.load > machine.bandwidth {
//!             let problem = format!("the bus carries {}", machine.bandwidth);
//!             return Err(settings.problem("workload.load", problem, "give less"));
//!         }
//!         Ok(work)
//!     }
//! }
//!
//! // What it says of the fields that files of all kinds have.
//! const OWN: &[Own] = &[
//!     Own::default("stop.of", Value("[\"latency\"]")),
//!     Own::default("stop.messages_first", Value("1000")),
//!     Own::default("stop.messages_max", Value("100000")),
//!     Own::default("stop.messages", Value("10000")),
//!     Own::default("stop.warmup_messages", Value("1000")),
//!     Own::default("search.over", Required).holds(Kind::Choice(&["workload.load"])),
//!     Own::default("search.from", Required).holds(Kind::Offered { usual: "GB/s" }),
//!     Own::default("search.to", Required).holds(Kind::Offered { usual: "GB/s" }),
//! ];
//!
//! static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::new(vec![Row::of::<Bus>()]));
//! assert_eq!(FORMATS.flaws(), [""; 0]);
//!
//! let text = r#"
//!     version = 1
//!     name = "a-bus"
//!     machine = { kind = "bus", nodes = 8 }
//!     [sweep]                                  # points are the product of the axes
//!     workload.load = { from = "200 MB/s", to = "800 MB/s", points = 4 }
//! "#;
//! let scenario = Scenario::parse(&FORMATS, text, "bus.toml", &["seed=7".to_owned()])?;
//! assert_eq!(scenario.points().len(), 4);
//! assert_eq!(scenario.machine.expect::<Machine>().nodes, 8);
//!
//! let error = Scenario::parse(&FORMATS, text, "bus.toml", &["machine.bandwidth=0.5 GB/s".to_owned()]);
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "bus.toml:6: workload.load: the bus carries 500 MB/s (at workload.load = 600 MB/s); give less",
//! );
//! # Ok::<(), isthmus_scenario::ScenarioError>(())
//! ```
//!
//! Knows no kind of machine and nothing of engines: descriptions are plain values.

// What `#[derive(Describe)]` writes names this crate, also in itself.
extern crate self as isthmus_scenario;

mod assignment;
mod canonical;
mod changes;
mod control;
mod describe;
mod described;
mod document;
mod draft;
mod error;
mod faults;
mod faults_axis;
mod field;
mod flaws;
mod form;
pub mod format;
mod formats;
mod held;
mod json_kinds;
mod json_schema;
mod kind;
mod kind_schema;
mod named;
mod placed;
mod points;
mod preset;
mod preset_values;
mod quantity;
mod resolved;
mod scenario;
pub mod schema;
mod search;
mod sets;
mod setting;
mod settings;
mod suggest;
mod sweep;
mod tables;
mod vain;
mod value;
mod variants;

pub use changes::Change;
pub use control::{Intervals, Measure, Stop, StopRule, Verdict, Warmup};
pub use described::Described;
pub use error::{Place, ScenarioError};
pub use formats::Formats;
pub use placed::placed;
pub use points::POINTS_MAX;
pub use resolved::Resolved;
pub use scenario::{Point, Scenario};
pub use search::{Search, SearchLine};
pub use sweep::{Axis, AxisValue};
pub use variants::Variant;
