//! The contract of engines, clock, totally ordered event queue, typed numbers and tables by them, named
//! random streams, distributions.
//!
//! Knows nothing of networks. Time is an integer number of cycles; what a cycle is in seconds is
//! said elsewhere (`isthmus_units::Clock`).

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

/// A point in time or a span, in cycles.
pub type Cycles = u64;
