//! How large networks may be.

/// Virtual channels that a link may have.
pub const CHANNELS_MAX: u32 = 16;
