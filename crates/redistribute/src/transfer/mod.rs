//! Copies the data of a redistribution plan: between arrays in the memory of one process, and
//! between arrays and messages.

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
    /// The size of elements is 0.
    #[error("elements of 0 bytes: they have at least 1")]
    NoElement,
    /// The number of ranks is not the number of ranks of the layout.
    #[error("{side}: arrays of {given} ranks, but the layout has {wanted}")]
    Ranks {
        /// The side of the transfer with the error: `from` or `to`.
        side: &'static str,
        /// Number of ranks that the caller passed.
        given: usize,
        /// Number of ranks of the layout.
        wanted: u64,
    },
    /// The number of arrays of a rank is not the number of its parts.
    #[error("{side}: rank {rank} has {given} arrays, but {wanted} parts of the layout")]
    Parts {
        /// The side of the transfer with the error: `from` or `to`.
        side: &'static str,
        /// Index of the rank in its layout.
        rank: u32,
        /// Number of arrays that the caller passed.
        given: usize,
        /// Number of arrays that the rank must have: one per part in the layout.
        wanted: usize,
    },
    /// An array is too short for its part of the layout, or two of its elements share bytes.
    #[error(
        "{side}: array {part}{}: {problem}",
        .rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default()
    )]
    Array {
        /// The side of the transfer with the error: `from` or `to`.
        side: &'static str,
        /// Index of the rank in its layout; `None` if the call concerns a single rank.
        rank: Option<u32>,
        /// Index of the part among the rank's parts of the array.
        part: usize,
        /// Description of the error.
        problem: String,
    },
    /// The size of a message does not match its sections.
    #[error("a message of {given} bytes for {wanted} bytes of elements")]
    Message {
        /// Size of the message in bytes.
        given: usize,
        /// Size in bytes of the elements that the message must contain.
        wanted: u64,
    },
    /// The threads could not be started.
    #[error("threads cannot be started: {0}")]
    Threads(String),
}
