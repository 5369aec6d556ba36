//! Copying of the data of a plan: between arrays in the memory of one process, and into and out of messages.

mod array;
mod kernel;
mod packed;
mod shared;
mod tiles;
mod walk;

pub use array::{Array, ArrayMut, Order, strides};
pub use packed::{Packing, Side, Source, runs};
pub use shared::redistribute;

/// Reason why data cannot be copied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransferError {
    /// Elements without bytes.
    #[error("elements of 0 bytes: they have at least 1")]
    NoElement,
    /// The number of ranks is not that of the layout.
    #[error("{side}: arrays of {given} ranks, but the layout has {wanted}")]
    Ranks {
        /// `from` or `to`.
        side: &'static str,
        /// The given number.
        given: usize,
        /// The number of the layout.
        wanted: u64,
    },
    /// The number of arrays of a rank is not that of its parts.
    #[error("{side}: rank {rank} has {given} arrays, but {wanted} parts of the layout")]
    Parts {
        /// `from` or `to`.
        side: &'static str,
        /// Index of the rank in its layout.
        rank: u32,
        /// The given number of arrays.
        given: usize,
        /// The number of parts.
        wanted: usize,
    },
    /// An array has no element where the layout has one, or two elements share bytes.
    #[error(
        "{side}: array {part}{}: {problem}",
        .rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default()
    )]
    Array {
        /// `from` or `to`.
        side: &'static str,
        /// Index of the rank in its layout; `None` if it is the only one.
        rank: Option<u32>,
        /// Index of the part.
        part: usize,
        /// The problem.
        problem: String,
    },
    /// The size of a message is not that of its elements.
    #[error("a message of {given} bytes for {wanted} bytes of elements")]
    Message {
        /// Size of the message in bytes.
        given: usize,
        /// Size of its elements in bytes.
        wanted: u64,
    },
    /// The threads could not be started.
    #[error("threads cannot be started: {0}")]
    Threads(String),
}
