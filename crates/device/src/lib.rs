//! Models of storage devices: disk, cache, array, burst buffer and I/O node. A model receives a
//! request and returns the time of its completion; it does no actual I/O.
//!
//! An [`IoNode`] belongs to the hypercube. A [`Storage`] is the device of an I/O server, which jobs
//! use in any network.
//!
//! The crate does not depend on networks. Times are in cycles of the machine's clock.

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
