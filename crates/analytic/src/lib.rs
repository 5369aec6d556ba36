//! Queueing formulas and the analytic models of the papers. Inputs and results are plain numbers.
//!
//! | module | results |
//! |---|---|
//! | [`queue`] | mean waits of M/G/1 and M/M/m |
//! | [`moments`] | mean, second and third moment and `C^2` of message lengths and their mixtures |
//! | [`staged`] | waits in a network of wormhole channels that all messages cross in one order |
//! | [`worms`] | waits of worms for each channel, on the routes of one machine |
//! | [`hypercube_io`] | section 6 of the hypercube paper: latency of every message class, saturation |
//! | [`disk`] | waits and maximum loads of the disks of I/O nodes |
//! | [`path`] | the message classes, and the channels on the path of each |
//! | [`sci`] | SCI rings and fabrics: peak throughput, latency at any load |
//! | [`packets`] | I/O on packet networks: bounds, closed loops of clients |
//! | [`trains`] | messages as trains of packets on any network: waits at nodes and links |
//! | [`balance`] | section 3 of the hypercube paper: the necessary growth of the I/O bandwidth |
//!
//! Times are in channel cycles, lengths in flits (one flit crosses one channel in one cycle), rates in messages per
//! cycle, unless a name says otherwise. A queue whose arrivals exceed its capacity has an infinite wait
//! (`f64::INFINITY`); no function returns NaN.
//!
//! The crate does not depend on machines, scenarios or engines.

pub mod balance;
pub mod disk;
mod error;
mod growth;
pub mod hypercube_io;
pub mod moments;
pub mod packets;
pub mod path;
pub mod queue;
pub mod sci;
pub mod staged;
pub mod trains;
pub mod worms;

pub use error::Error;
