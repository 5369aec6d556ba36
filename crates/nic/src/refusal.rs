//! Refusals.

use isthmus_nic_protocol::{Refusal, RefusalKind};

/// Build a refusal.
pub(crate) fn refusal(kind: RefusalKind, text: impl Into<String>) -> Refusal {
    let text = text.into();
    Refusal { kind, text }
}

/// Return the refusal for clients that connect while the daemon ends.
pub(crate) fn ending() -> Refusal {
    refusal(
        RefusalKind::Ending,
        "the daemon ends: ask another, or this one when it is started again",
    )
}
