//! Functions that create refusals, the daemon's answers to requests that it does not accept.

use isthmus_nic_protocol::{Refusal, RefusalKind};

/// Return a refusal of a request, with this kind and text.
pub(crate) fn refusal(kind: RefusalKind, text: impl Into<String>) -> Refusal {
    let text = text.into();
    Refusal { kind, text }
}

/// Return the refusal of clients that connect while the daemon ends.
pub(crate) fn ending() -> Refusal {
    refusal(
        RefusalKind::Ending,
        "the daemon ends: ask another, or this one when it is started again",
    )
}
