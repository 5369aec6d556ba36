//! Refusals, and what is said when the daemon ends.

use isthmus_nic_protocol::{Refusal, RefusalKind};

/// A refusal.
pub(crate) fn refusal(kind: RefusalKind, text: impl Into<String>) -> Refusal {
    let text = text.into();
    Refusal { kind, text }
}

/// What is said to those who come when the daemon ends.
pub(crate) fn ending() -> Refusal {
    refusal(
        RefusalKind::Ending,
        "the daemon ends: ask another, or this one when it is started again",
    )
}
