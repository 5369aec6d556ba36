//! Jobs on a machine of any kind: what stands between a [`JobsSource`] and the engine that carries
//! its messages.
//!
//! An engine's simulation takes the messages that must be handed over from `Jobs::pass_on`. It calls
//! `Jobs` when a message is handed over, has come in and is complete. `Jobs` passes these events on to
//! the source, and reports offered messages and ended phases to the [`Observer`].
//!
//! [`JobsSource`]: isthmus_workload::jobs::JobsSource

mod observe;
mod replication;
mod running;
mod turns;

pub use isthmus_workload::jobs::Phase;
pub use observe::{Completed, Observer, Packet, Stored};
pub use replication::Replication;
pub(crate) use running::Jobs;
pub use running::Open;
pub(crate) use turns::Turns;
