//! Jobs on a machine of any kind: what stands between a [`JobsSource`] and the engine that carries
//! its messages.
//!
//! An engine's simulation takes the messages that are to be handed over from `Jobs::take`, and
//! tells when one is handed over, has come in and is complete. `Jobs` tells the source, counts what
//! the [`Observer`] has been told of as asked for, and tells it of the phases that have ended.
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
