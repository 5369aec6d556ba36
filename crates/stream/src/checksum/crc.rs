//! CRC32C, folded into a copy.

use super::BLOCK_BYTES;
use crc_fast::{CrcAlgorithm, Digest};

/// The CRC32C of `data`.
#[must_use]
pub fn crc32c(data: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, data) as u32
}

/// Copies `from` to the begin of `to` and gives the CRC32C of what it copied, block by block: each
/// is summed where it was just read, in the nearest cache. What does not fit is not copied; the
/// second number is that of the bytes copied.
pub fn copy_crc32c(from: &[u8], to: &mut [u8]) -> (u32, usize) {
    let bytes = from.len().min(to.len());
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    let blocks = from[..bytes].chunks(BLOCK_BYTES);
    for (block, place) in blocks.zip(to[..bytes].chunks_mut(BLOCK_BYTES)) {
        place.copy_from_slice(block);
        digest.update(place);
    }
    (digest.finalize() as u32, bytes)
}
