//! Scenario table `[workload]` of an SCI fabric with jobs.

use crate::jobs::WorkloadTable;
use isthmus_scenario::format::{Data, Describe, Span, Whole};
use isthmus_units::{Bytes, Time};

/// Number of transactions that a 6-bit transaction number distinguishes (IEEE 1596).
const TRANSACTIONS_MAX: u64 = 64;

/// Table `[workload]` of an SCI fabric with jobs.
#[derive(Describe)]
pub(super) struct JobsTable {
    #[describe(flatten)]
    pub(super) jobs: WorkloadTable,
    /// Most data of one transaction in whole symbols (Table 1: 64 B; IEEE 1596: 16, 64 or 256 B); a
    /// message is as many writes, or reads, as it fills, of which the last one has what is left in blocks
    /// of 16 B.
    #[describe(holds = Data::new(16, 256), default = "64 B")]
    pub(super) payload: Bytes,
    /// From the arrival of a request to its response, at the target.
    #[describe(holds = Span::or_zero("ns"), default = "0 s")]
    pub(super) turnaround: Time,
    /// Transactions of one message that may be under way, from being handed to the interface until the
    /// tail of the response is there (IEEE 1596 distinguishes 64 of a node).
    #[describe(
        label = "transactions of a message under way",
        holds = Whole::new(1, TRANSACTIONS_MAX),
        default = 8
    )]
    pub(super) transactions: u32,
}
