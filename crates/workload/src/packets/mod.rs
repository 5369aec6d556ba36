//! Traffic of a packet network: its description, and a source of packets for each node.

mod source;
pub mod spec;

pub use source::{PacketSource, Request};
