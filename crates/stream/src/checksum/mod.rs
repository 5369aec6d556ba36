//! Checksums of data, which can be combined from the checksums of its parts.
//!
//! The network interface computes checksums while it moves data (Steenkiste 1996, 4.2). Ranks may
//! instead compute the checksums of blocks of 8 to 16 KB, from which the interface computes those of
//! packets (4.1). Both checksums here can be combined in this way: [`internet`], the ones' complement
//! sum of 16-bit words (RFC 1071), and [`crc`], CRC32C.

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
