//! Distributed arrays: which rank holds which elements ([`layout`]), how an array of one layout becomes one of another
//! ([`plan`]), and what moves the data ([`transfer`]); the layout from which a network interface takes an array in large
//! blocks ([`IoDistribution`]).
//!
//! The blocks that the ranks of a parallel program hold are small and scattered; a consumer of the
//! data, such as a network interface or a file, needs large contiguous ones. The answer is to
//! reshuffle inside the machine (Steenkiste, "A High-Speed Network Interface for Distributed-Memory
//! Systems", section 6.1).
//!
//! Knows nothing of sockets, files, networks or processes: a plan is pure arithmetic on layouts, and data are moved
//! between slices of bytes.

mod comb;
mod family;
mod io_distribution;
pub mod layout;
mod piece;
pub mod plan;
mod span;
pub mod transfer;

pub use comb::Comb;
pub use family::{At, Family, Steps, shared, shared_size};
pub use io_distribution::{IoDistribution, IoDistributionError, IoGrid, TransferUnit, UnitBlock};
pub use layout::{Block, Boxes, Dim, Grid, GridOrder, Layout, LayoutError, Spread};
pub use piece::{piece, piece_size, stretch};
pub use plan::{Message, Plan, PlanError, Section};
pub use span::{End, spans};
