//! Redistribution of arrays among the ranks of a parallel program.
//!
//! - [`layout`]: layouts, which are the elements of an array that each rank has.
//! - [`plan`]: the messages that turn an array of one layout into an array of another.
//! - [`transfer`]: copying of the data.
//! - [`IoDistribution`]: the layout from which a network interface reads an array in large blocks.
//!
//! The blocks that the ranks of a parallel program have are small and scattered. A consumer of the
//! data, such as a network interface or a file, needs large contiguous blocks. The solution is to
//! reshuffle the data inside the machine (Steenkiste, "A High-Speed Network Interface for
//! Distributed-Memory Systems", section 6.1).
//!
//! The crate has no sockets, files, networks or processes. A plan is pure arithmetic on layouts,
//! and data are copied between slices of bytes.
//!
//! ```
//! use isthmus_redistribute::{Dim, Grid, Layout, Message, Plan};
//! use std::sync::Arc;
//!
//! // Two ranks have single elements of an array in turn. What must rank 0 send so that each of
//! // four ranks has one contiguous block?
//! let cyclic = Layout::grid(&[1024], Grid::new(&[2], &[Dim::cyclic(0, 1)]))?;
//! let blocks = Layout::grid(&[1024], Grid::new(&[4], &[Dim::block(0)]))?;
//! let plan = Plan::new(Arc::new(cyclic), Arc::new(blocks))?;
//! let messages: Vec<Message> = (0..4).map(|peer| Message { peer, elements: 128 }).collect();
//! assert_eq!(plan.sends(0), messages);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
pub use piece::{boxes_of_range, piece, piece_size};
pub use plan::{Message, Plan, PlanError, Section};
pub use span::{End, spans};
