//! Machines: simulations that combine an engine, devices and a workload.
//!
//! Each kind of machine has one module. [`storage`] has the devices of I/O servers on any of them. This
//! crate does not read files, print or compute statistics. An observer decides when a run ends.

pub mod fattree;
pub mod graph;
pub mod hypercube;
pub mod jobs;
pub mod packets;
pub mod sci;
pub mod storage;
