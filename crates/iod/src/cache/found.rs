//! The files that were looked up a short time ago.

use super::file::File;
use isthmus_forward::message::Attributes;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// A file that was looked up, and its attributes at that time.
#[derive(Debug)]
pub(super) struct Found {
    pub at: Instant,
    pub file: Arc<File>,
    /// The number of changes of the file by clients of this daemon until then.
    pub changes: u64,
    pub attributes: Attributes,
}

/// The files by number of the export and path.
#[derive(Debug, Default)]
pub(super) struct Paths {
    pub found: HashMap<(u32, Vec<u8>), Found>,
    /// The number of paths at which they are pruned next.
    pub pruned_at: usize,
    /// How often a client has renamed or removed something.
    pub generation: u64,
}
