//! Checksums of data, which can be combined from the checksums of its parts.
//!
//! The network interface sums data while it moves it (paper, 4.2). Ranks may instead sum blocks of
//! 8 to 16 KB, which the interface combines into those of packets (paper, 4.1). Both checksums here
//! support both: [`internet`] as ones' complement of 16-bit words (RFC 1071), [`crc`] as CRC32C.

pub mod crc;
pub mod internet;
mod powers;

pub use crc::crc32c;
pub use internet::Partial;
pub use powers::combine_crc32c;
use serde::{Deserialize, Serialize};

/// The kind of checksum that protects the data of a connection's packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checksum {
    /// No checksum, because the layer below the connection is trusted.
    None,
    /// The Internet checksum, 16 bits, in the form that [`internet::Partial::finish`] returns.
    Internet,
    /// CRC32C, 32 bits.
    #[default]
    Crc32c,
}
