//! Disk, cache, array, burst buffer and I/O node without I/O: each takes a request and returns the
//! time of its completion.
//!
//! An [`IoNode`] belongs to the hypercube. A [`Storage`] stands behind an I/O server of jobs in any
//! network.
//!
//! The crate knows nothing of networks. Times are cycles of the machine's clock.

mod array;
mod burst_buffer;
mod busy;
mod disk;
mod io_node;
mod queue;
mod request;
mod storage;

pub use array::Striping;
pub use burst_buffer::BurstTimes;
pub use busy::Busy;
pub use disk::Disk;
pub use io_node::{IoNode, IoNodeTimes};
pub use request::{Access, Request};
pub use storage::{Model, Storage, Work};
