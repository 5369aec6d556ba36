//! Packets between nodes: who sends what to whom and when.

pub mod spec;
