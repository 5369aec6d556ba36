//! Jobs on a machine of any kind: the layer between a [`JobsSource`] and the engine that carries its
//! messages.
//!
//! An engine's simulation gets the messages to hand over from `Jobs::pass_on`. It calls `Jobs` when a
//! message is handed over, arrives and is complete. `Jobs` forwards these events to the source, and
//! reports offered messages and ended phases to the [`Observer`].
//!
//! [`JobsSource`]: isthmus_workload::jobs::JobsSource

// Events that a simulation reports to its observer.
mod observe;
// Trait that the simulations of jobs on all kinds of machine implement: one replication of a simulation.
mod replication;
// Messages and phases of the jobs while one replication of the simulation runs.
mod running;
// Queues of I/O servers that serve one request at a time.
mod turns;

pub use isthmus_workload::jobs::Phase;
pub use observe::{Completed, Observer, Packet, Stored};
pub use replication::Replication;
pub(crate) use running::Jobs;
pub use running::Open;
pub(crate) use turns::Turns;
