//! Maximum number of virtual channels of a link.

/// Maximum number of virtual channels of a link.
pub const CHANNELS_MAX: u32 = 16;
