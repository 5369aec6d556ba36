//! Packets between nodes: who sends what to whom and when.

mod source;
pub mod spec;

pub use source::{PacketSource, Request};
