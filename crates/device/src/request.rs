//! Requests to devices.

use isthmus_kernel::Cycles;

/// Direction of a data transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// A request to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Time of the request, in cycles.
    pub time: Cycles,
    /// Length in bytes.
    pub bytes: u64,
    /// Direction of the data.
    pub access: Access,
    /// Number of the data stream. Requests with the same number concern the same data.
    pub stream: u32,
}
