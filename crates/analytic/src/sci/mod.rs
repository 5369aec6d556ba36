//! Rings of the Scalable Coherent Interface (SCI) joined by agents: peak throughput, latency.
//!
//! M. Sarwar, A. D. George, *Simulative Performance Analysis of Distributed Switching Fabrics for
//! SCI-based Systems*, University of Florida (2000), called the SCI paper below.
//!
//! | item | what it answers |
//! |---|---|
//! | [`Protocol`] | how many symbols packets take on a link (Table 1, section 4.1) |
//! | [`equations`] | peak throughput of rings and square tori in the closed forms of the paper, Eq. 1-4 |
//! | [`Class`], [`bottleneck`] | the same for any fabric and traffic, from what packets ask of each link |
//! | [`light_load_latency`] | latency when no packet meets another |
//! | [`insertion`] | waits at one interface, of packets that enter the ring and of those that pass |
//! | [`estimate`] | latency at any load: queueing for the ring and in the bypass FIFOs passed |
//! | [`domain`] | at which loads, and with how many slots, the estimate holds |
//!
//! Times are in symbol times (cycles), lengths in symbols, rates in transactions per cycle and
//! fabric, unless a name says otherwise. Links are numbered as the caller likes; the link that
//! leaves an interface stands for the interface as well.

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
