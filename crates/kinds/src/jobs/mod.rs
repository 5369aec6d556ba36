//! Jobs on machines of any kind: what files say of them, and what is measured.

pub(crate) mod behind;
pub(crate) mod capacity;
mod figures;
mod format;
mod measured;
mod message;
mod misfit;
mod no_effect;
mod read;
mod start;
mod subject;
mod table;

use figures::nodes;
pub(crate) use format::{tables, workload};
pub use measured::names;
pub(crate) use measured::{Measured, ObserverState, is_io, stores};
pub(crate) use message::{Message, ns};
pub(crate) use no_effect::watch;
pub(crate) use read::{Nodes, check_live, jobs};
pub(crate) use start::{Parts, check_start};
pub(crate) use subject::{Running, Runs, never, subject};
pub(crate) use table::{CommonTable, WorkloadTable};
