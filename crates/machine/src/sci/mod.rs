//! Fabrics of SCI rings joined by switch nodes.

pub mod spec;
