//! I/O on networks of packets: bounds from links and network interfaces, closed loops of clients.
//!
//! S. Coll, F. Petrini, E. Frachtenberg, A. Hoisie, *Performance evaluation of I/O traffic and
//! placement of I/O nodes on a high performance network*, called the QsNET paper below. Its network is a fat tree; what is here
//! serves networks of any form.
//!
//! | item | what it answers |
//! |---|---|
//! | [`Rules`] | what one node can send and receive, one way and both ways; latency (sections 4.1, 4.2) |
//! | [`loops`] | what clients get that keep some messages going and meet in links and interfaces (section 4.4) |
//! | [`domain`] | where that holds |
//!
//! Times are in ns, lengths in bytes, rates in bytes of payload per ns, which is GB/s, unless a name
//! says otherwise. Links are numbered as the caller likes.

pub mod domain;
pub mod loops;
mod lumps;
mod rules;

pub use rules::{Bound, Interface, Limit, Link, Rules};
