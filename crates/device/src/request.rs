//! Requests to storage devices: reads and writes of data.

use isthmus_kernel::Cycles;

/// Direction of a data transfer to or from a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Data go from the device to the requester.
    Read,
    /// Data go from the requester to the device.
    Write,
}

/// A request to read data from a device or to write data to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Time at which the request arrives, in cycles.
    pub time: Cycles,
    /// Length of the data in bytes.
    pub bytes: u64,
    /// Direction of the data.
    pub access: Access,
    /// Number of the data stream. Requests with the same number concern the same data.
    pub stream: u32,
}
