//! The applications of the stream manager that Steenkiste describes (1996, section 7), with the
//! same division of work. Ranks are threads, and channels between the threads replace the wires of
//! the machine. Rings in shared memory are the links to the interface. The stream manager is the
//! same as in real use.
//!
//! | module | content |
//! |---|---|
//! | `interface` | the manager on its own thread, and the progress of its streams |
//! | `ranks` | ranks as threads, which end together |
//! | `shares`, `sink` | the ranks' use of time; the receiver that verifies the data |
//! | [`optimise`] | process optimisation: computing ranks and a forwarder for each quadrant (7.1) |
//! | [`mri`] | medical imaging: irregular data, and control that passes from rank to rank (7.2) |
//! | [`live`] | the machine and the work that `stream-sim` simulates (section 6) |
//! | [`vcr`] | the digital VCR: storage ranks, rebuilders, forwarders, screens in step (7.3) |
//!
//! The crate needs Linux, as the rings do; it is empty on other systems.

#![cfg(target_os = "linux")]

mod error;
mod interface;
pub mod live;
pub mod mri;
pub mod optimise;
mod ranks;
mod shares;
mod sink;
pub mod vcr;

pub use error::Error;
