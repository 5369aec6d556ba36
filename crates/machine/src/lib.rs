//! The only place where engine, devices and workload are put together, one module for each kind
//! of machine; [`storage`] is what stands behind the I/O servers of jobs on any of them. No files, no printing, no statistics; an observer says when it has seen enough.

pub mod fattree;
pub mod graph;
pub mod hypercube;
pub mod jobs;
pub mod packets;
pub mod sci;
pub mod storage;
