//! Rings of the Scalable Coherent Interface (SCI) joined by agents: peak throughput, latency.
//!
//! M. Sarwar, A. D. George, *Simulative Performance Analysis of Distributed Switching Fabrics for
//! SCI-based Systems*, University of Florida (2000), called the SCI paper below.
//!
//! | item | result |
//! |---|---|
//! | [`Protocol`] | symbols of a packet on a link (Table 1, section 4.1) |
//! | [`equations`] | peak throughput of rings and square tori by the closed forms of the paper, Eq. 1-4 |
//! | [`Class`], [`bottleneck`] | peak throughput of any fabric and traffic, from the load of each link |
//! | [`light_load_latency`] | latency without other packets |
//! | [`insertion`] | waits at one interface, of packets that enter the ring and of passing packets |
//! | [`estimate`] | latency at any load: waits for the ring and in the bypass FIFOs |
//! | [`domain`] | loads and numbers of slots for which the estimate is valid |
//!
//! Times are in symbol times (cycles), lengths in symbols, rates in transactions per cycle and
//! fabric, unless a name says otherwise. The caller numbers the links. The number of a link also denotes the interface
//! that it leaves.

pub mod domain;
pub mod equations;
pub mod insertion;
mod latency;
mod load;
mod protocol;

pub use insertion::Waits;
pub use latency::{Estimate, Timing, estimate, light_load_latency};
pub use load::{Bottleneck, Class, bottleneck};
pub use protocol::Protocol;
