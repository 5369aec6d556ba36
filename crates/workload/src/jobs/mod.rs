//! Jobs that run side by side on sets of nodes, and the I/O servers that they share.
//!
//! [`spec`] describes the jobs, [`Layout`] finds their nodes, and a [`JobsSource`] returns the next message of each
//! process. The caller of the source reports completions and arrivals of messages with their times, since the source
//! has no clock.

mod asker;
mod client;
mod collective;
mod layout;
mod member;
mod partners;
mod pattern;
mod phases;
mod roles;
mod source;
pub mod spec;
mod start;

pub use layout::{Layout, LayoutError};
pub use pattern::{Pair, Partners};
pub use phases::Phase;
pub use source::{Demand, JobsSource, Operation, Process};
pub use start::Start;
