//! The format of scenario files, each of which describes an experiment: parser, checks and reference.
//!
//! [`Scenario::parse`] reads a TOML file that describes a machine, its workload, a sweep, measurements and
//! stopping rules. It checks every point, and returns the scenario or one [`ScenarioError`] with its
//! location, the problem and a hint. [`Formats::fields`] returns the documentation of all fields.
//!
//! The fields of `[machine]` and `[workload]` depend on the kind of machine. Each kind implements
//! [`Format`](format::Format) with its own types, and a program collects its kinds in one [`Formats`]. This
//! example defines a bus.
//!
//! ```
//! use isthmus_scenario::format::{
//!     Choice, Default::{Required, Value}, Describe, Field, Format, LoadValue, Loads, NoLoad, Problem,
//!     Row, Rows, Settings, Tables, Throughput, Whole,
//! };
//! use isthmus_scenario::{Formats, Scenario};
//! use isthmus_units::{Bandwidth, Time};
//! use std::sync::LazyLock;
//!
//! #[derive(Debug, Clone, PartialEq, Describe)]
//! struct Machine {
//!     /// Nodes on the bus.
//!     #[describe(holds = Whole::new(2, 64))]
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
//!         own,
//!         loads: Loads {
//!             keys: Choice(&["workload.load"]),
//!             key: "workload.load",
//!             label: "offered load",
//!             unit: "GB/s",
//!             read: |_, value| match value.as_::<Bandwidth>() {
//!                 Some(load) => Ok(load.bits_per_s() as f64 / 8e9),
//!                 None => Err(NoLoad { problem: "no bandwidth", hint: "give one" }),
//!             },
//!             write: |load| Ok(LoadValue {
//!                 key: "workload.load",
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
//! // Completes the fields that files of all kinds share.
//! fn own(row: Field) -> Field {
//!     match &*row.key {
//!         "stop.of" => row.by_default(Value("[\"latency\"]")),
//!         "stop.messages_first" | "stop.warmup_messages" => row.by_default(Value("1000")),
//!         "stop.messages_max" => row.by_default(Value("100000")),
//!         "stop.messages" => row.by_default(Value("10000")),
//!         "search.from" | "search.to" => row.holding(&LOAD),
//!         _ => row,
//!     }
//! }
//!
//! const LOAD: Throughput = Throughput::offered("GB/s");
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
//! This crate does not depend on any kind of machine or any engine: descriptions are plain values.

// Give the crate its own name: code that `#[derive(Describe)]` generates refers to it by name.
extern crate self as isthmus_scenario;

mod fields;
mod file;
mod no_effect;
mod reference;
mod scenario;
mod sweep;
pub mod value;

pub use fields::control::{Intervals, Measure, Stop, StopRule, Verdict, Warmup};
pub use fields::registry::Formats;
pub use file::changes::Change;
pub use file::error::{Place, ScenarioError};
pub use file::toml_json::toml_with_places;
pub use file::tree::{Node, Tree};
pub use reference::field_list::FieldInfo;
pub use reference::resolved::Resolved;
pub use scenario::{Point, Scenario};
pub use sweep::axis::{Axis, AxisValue};
pub use sweep::points::POINTS_MAX;
pub use sweep::search::{Search, SearchLine};
pub use sweep::variants::Variant;
pub use value::described::Described;

/// Items for the implementation of a kind of machine: its tables as Rust types, and its file format.
pub mod format {
    pub use crate::fields::control::messages_most;
    pub use crate::fields::field::{Default, Field};
    pub use crate::fields::format::{Format, Row};
    pub use crate::fields::named::Named;
    pub use crate::fields::rows::{
        Describe, Rows, Selector, at, panic_unknown_word, read_if_any, type_of,
    };
    pub use crate::fields::tables::{LoadValue, Loads, NoLoad, Tables};
    pub use crate::fields::tables::{Preset, PresetValue, Presets};
    pub use crate::file::error::{Origin, Problem};
    pub use crate::file::setting::Layer;
    pub use crate::file::settings::Settings;
    pub use crate::file::suggest::closest;
    pub use crate::file::tree::shown;
    pub use crate::no_effect::{Reason, Watch};
    pub use crate::sweep::failures::{Asked, Failures, Faults, Part, SINGLE, State, Which};
    pub use crate::sweep::range::rounded;
    pub use crate::value::described::Description;
    pub use crate::value::{
        AnyType, Choice, Data, Frequency, Held, Links, Measures, Number, Share, Span, TIME_MAX,
        Text, Throughput, Value, Whole, typed,
    };
    pub use strum::VariantNames;
}
