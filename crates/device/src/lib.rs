//! Disk, cache and I/O node as sans-I/O machines: a request in, the time of its completion out.
//!
//! Knows nothing of networks. Times are cycles of the machine's clock.

mod busy;
mod disk;
mod io_node;

pub use busy::Busy;
pub use disk::Disk;
pub use io_node::{IoNode, IoNodeTimes};
