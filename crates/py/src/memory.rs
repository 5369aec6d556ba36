//! Functions for memory that is shared with other processes: write order and checksums.

use crate::arrays::wrong;
use crc_fast::{CrcAlgorithm, checksum};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use std::sync::atomic;

/// Make data that was written before this call visible to other processes before data written after
/// it.
#[pyfunction]
pub(crate) fn fence() {
    atomic::fence(atomic::Ordering::SeqCst);
}

/// Return the address in memory of the first byte of a numpy array.
#[pyfunction]
pub(crate) fn address(data: &Bound<'_, PyArray1<u8>>) -> usize {
    data.data() as usize
}

/// Return the CRC-32C (Castagnoli, as in RFC 3720) of bytes.
#[pyfunction]
pub(crate) fn crc32c(py: Python<'_>, data: PyReadonlyArray1<'_, u8>) -> PyResult<u32> {
    let bytes = data.as_slice().map_err(wrong)?;
    Ok(py.detach(|| checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32))
}
