//! Traffic of packets between nodes.

mod source;
pub mod spec;

pub use source::{PacketSource, Request};
