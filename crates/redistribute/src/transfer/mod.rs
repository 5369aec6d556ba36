//! What moves the data of a plan: between arrays in the memory of one process, and into and out of messages.

mod array;
mod kernel;
mod packed;
mod shared;
mod tiles;
mod walk;

pub use array::{Array, ArrayMut, Order, strides};
pub use packed::{Packing, Side, Source, runs};
pub use shared::redistribute;

/// Why data cannot be moved.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransferError {
    /// Elements of no bytes.
    #[error("elements of 0 bytes: they have at least 1")]
    NoElement,
    /// There are not as many ranks as the layout has.
    #[error("{side}: arrays of {given} ranks, but the layout has {wanted}")]
    Ranks {
        /// `from` or `to`.
        side: &'static str,
        /// How many were given.
        given: usize,
        /// How many the layout has.
        wanted: u64,
    },
    /// A rank has not as many arrays as it has parts.
    #[error("{side}: rank {rank} has {given} arrays, but {wanted} parts of the layout")]
    Parts {
        /// `from` or `to`.
        side: &'static str,
        /// Which rank, by place in its layout.
        rank: u32,
        /// How many were given.
        given: usize,
        /// How many parts it has.
        wanted: usize,
    },
    /// An array has no element where the layout has one, or two elements in one place.
    #[error(
        "{side}: array {part}{}: {problem}",
        .rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default()
    )]
    Array {
        /// `from` or `to`.
        side: &'static str,
        /// Which rank, by place in its layout, if it is not the only one.
        rank: Option<u32>,
        /// Which of its parts.
        part: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A message is not as long as what is in it.
    #[error("a message of {given} bytes for {wanted} bytes of elements")]
    Message {
        /// Its bytes.
        given: usize,
        /// Those of what is in it.
        wanted: u64,
    },
    /// The threads could not be started.
    #[error("threads cannot be started: {0}")]
    Threads(String),
}
