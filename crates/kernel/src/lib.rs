//! Clock, totally ordered event queue, places used again, named random streams, distributions.
//!
//! Knows nothing of networks. Time is an integer number of cycles; what a cycle is in seconds is
//! said elsewhere (`isthmus_units::Clock`).

mod distribution;
mod paths;
mod queue;
mod ran;
mod slab;
mod stream;

pub use distribution::{Chance, Gap, Uniform, draw_below, unit_interval};
pub use paths::Paths;
pub use queue::EventQueue;
pub use ran::Ran;
pub use slab::Slab;
pub use stream::{Stream, Streams};

/// A point in time or a span, in cycles.
pub type Cycles = u64;
