//! Disk, cache, array, burst buffer and I/O node as sans-I/O machines: a request in, the time of its
//! completion out.
//!
//! An [`IoNode`] is the hypercube's; a [`Storage`] is what stands behind an I/O server of jobs,
//! whatever network that is on.
//!
//! Knows nothing of networks. Times are cycles of the machine's clock.

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
