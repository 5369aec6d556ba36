//! The applications of the stream manager that Steenkiste describes (1996, section 7), with the
//! same division of work. Threads are ranks, channels between them the wires of the machine, rings
//! in shared memory the links to the interface; the manager is the real one.
//!
//! | module | what it does |
//! |---|---|
//! | `interface` | the manager on its thread, and the progress of streams |
//! | `ranks` | threads as ranks, which end together |
//! | `shares`, `sink` | what ranks do with their time, and who takes and checks what is sent |
//! | [`optimise`] | process optimisation: nodes and a forwarder for each quadrant (7.1) |
//! | [`mri`] | medical imaging: irregular data, control handed from rank to rank (7.2) |
//! | [`live`] | the machine and the work that `stream-sim` simulates (6) |
//! | [`vcr`] | the digital VCR: stores, rebuilders, forwarders, screens in step (7.3) |
//!
//! Linux only, as the rings are: this crate is empty elsewhere.

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
