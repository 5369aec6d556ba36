//! The CRC32C of a contiguous piece of data.

use crc_fast::CrcAlgorithm;

/// Returns the CRC32C of `data`.
#[must_use]
pub fn crc32c(data: &[u8]) -> u32 {
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, data) as u32
}
