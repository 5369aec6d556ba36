//! What tells messages apart.

use isthmus_kernel::id;

id! {
    /// The place of a message.
    pub(super) struct MessageId;
}
