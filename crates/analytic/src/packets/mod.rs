//! I/O on packet networks: bounds from links and network interfaces, closed loops of clients.
//!
//! S. Coll, F. Petrini, E. Frachtenberg, A. Hoisie, *Performance evaluation of I/O traffic and
//! placement of I/O nodes on a high performance network*, called the QsNET paper below. Its network is a fat tree; this
//! module serves any network.
//!
//! | item | result |
//! |---|---|
//! | [`Rules`] | largest send and receive rate of a node, in one and both directions; latency (sections 4.1, 4.2) |
//! | [`loops`] | throughput of clients with some messages in flight that meet at links and interfaces (section 4.4) |
//! | [`domain`] | validity of the results for clients |
//!
//! Times are in ns, lengths in bytes, rates in bytes of payload per ns, which is GB/s, unless a name says otherwise.
//! The caller numbers the links.

pub mod domain;
mod equivalence;
pub mod loops;

mod rules;

pub use rules::{Bound, Interface, Limit, Link, Rules};
