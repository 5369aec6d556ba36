//! The versioned experiment file.
//!
//! [`Scenario::parse`] reads a TOML file that describes a machine, its workload, a sweep, what to
//! measure and when to stop, and either returns it whole, every point checked, or one
//! [`ScenarioError`] that says what is wrong, where, and what would be right.
//! [`schema::fields`] lists all fields; it is made from the table that the parser uses.
//!
//! Knows nothing of engines: descriptions are plain values.

mod canonical;
mod control;
mod document;
mod draft;
mod error;
mod field;
mod hypercube;
mod machine;
mod quantity;
mod scenario;
pub mod schema;
mod search;
mod settings;
mod suggest;
mod sweep;
mod traffic;
mod value;

pub use control::{Intervals, Measure, Stop, StopRule, Verdict, Warmup};
pub use error::{Place, ScenarioError};
pub use machine::Machine;
pub use scenario::{POINTS_MAX, Point, Scenario};
pub use search::{Load, Search, SearchLine};
pub use sweep::{Axis, AxisValue};
