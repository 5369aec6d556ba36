//! What devices are asked for.

use isthmus_kernel::Cycles;

/// Which way data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Out of the device.
    Read,
    /// Into it.
    Write,
}

/// What is asked of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// When.
    pub time: Cycles,
    /// How many bytes.
    pub bytes: u64,
    /// Which way they go.
    pub access: Access,
    /// For whom: requests of one number concern the same data.
    pub stream: u32,
}
