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

use std::fmt;

/// Why data cannot be moved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TransferError {
    /// Elements of no bytes.
    NoElement,
    /// There are not as many ranks as the layout has.
    Ranks {
        /// `from` or `to`.
        side: &'static str,
        /// How many were given.
        given: usize,
        /// How many the layout has.
        wanted: u64,
    },
    /// A rank has not as many arrays as it has parts.
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
    Message {
        /// Its bytes.
        given: usize,
        /// Those of what is in it.
        wanted: u64,
    },
    /// The threads could not be started.
    Threads(String),
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoElement => f.write_str("elements of 0 bytes: they have at least 1"),
            Self::Ranks {
                side,
                given,
                wanted,
            } => write!(
                f,
                "{side}: arrays of {given} ranks, but the layout has {wanted}"
            ),
            Self::Parts {
                side,
                rank,
                given,
                wanted,
            } => write!(
                f,
                "{side}: rank {rank} has {given} arrays, but {wanted} parts of the layout"
            ),
            Self::Array {
                side,
                rank,
                part,
                problem,
            } => match rank {
                Some(rank) => write!(f, "{side}: array {part} of rank {rank}: {problem}"),
                None => write!(f, "{side}: array {part}: {problem}"),
            },
            Self::Message { given, wanted } => {
                write!(
                    f,
                    "a message of {given} bytes for {wanted} bytes of elements"
                )
            }
            Self::Threads(problem) => write!(f, "threads cannot be started: {problem}"),
        }
    }
}

impl std::error::Error for TransferError {}
