//! The only place where engine, devices and workload are put together.
//!
//! No files, no printing, no statistics.

pub mod spec;
