//! Base of the simulation engines: their contract, the clock, a totally ordered event queue, typed ids with tables,
//! named random streams and distributions.
//!
//! The crate does not depend on networks. Time is an integer number of cycles. `isthmus_units::Clock` defines the
//! length of a cycle in seconds.

mod distribution;
mod engine;
mod id;
mod paths;
mod queue;
mod slab;
mod stream;

pub use distribution::{Chance, Gap, Uniform, draw_below, unit_interval};
pub use engine::{Engine, Ran, RunUntil};
pub use id::{Id, Table};
pub use paths::Paths;
pub use queue::EventQueue;
pub use slab::Slab;
pub use stream::{Stream, Streams};

/// A point in time or a time span, in cycles.
pub type Cycles = u64;
