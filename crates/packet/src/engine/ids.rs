//! Identifiers of messages.

use isthmus_kernel::id;

id! {
    /// The slot of a message.
    pub(super) struct MessageId;
}
