//! Scenario table `[workload]` of a hypercube with jobs.

use crate::jobs::CommonTable;
use isthmus_scenario::format::{Data, Describe, Whole};
use isthmus_units::Bytes;

/// Maximum number of worms of a message in flight. A worm is the part of a message that is sent at a time, one transfer
/// unit.
const WORMS_MAX: u64 = 1024;

/// Table `[workload]` of a hypercube with jobs; the servers are the I/O nodes.
#[derive(Describe)]
pub(super) struct JobsTable {
    #[describe(flatten)]
    pub(super) jobs: CommonTable,
    /// Most data of one worm (Table 1: files of more than 128 KiB are broken up into several); a message
    /// is as many worms as it fills, each with a start-up of its own.
    #[describe(holds = Data::new(1, 1 << 30), default = "128 KiB")]
    pub(super) transfer_unit: Bytes,
    /// Transfer units of one message that may be under way, from the start-up of the first worm of each
    /// until its data are where they go, or stored.
    #[describe(
        label = "transfer units of a message under way",
        holds = Whole::new(1, WORMS_MAX),
        default = 8
    )]
    pub(super) worms: u32,
    /// Length of a request, which goes before what is read and with what is written.
    #[describe(label = "request length", default = "32 B")]
    pub(super) request: Bytes,
}
