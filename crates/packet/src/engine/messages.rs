//! Messages from their offer to their delivery.

use crate::traffic::{Kind, Message};
use isthmus_kernel::{Cycles, id};

id! {
    /// The slot of a message.
    pub(super) struct MessageId;
}

/// One message.
#[derive(Debug, Clone, Copy)]
pub(super) struct State<T> {
    pub message: Message<T>,
    pub generated: Cycles,
    /// When its first packet was injected.
    pub injected: Option<Cycles>,
    /// Whether its packets are those of the data, not the request of a read.
    pub data: bool,
    /// Bytes of data or of the request.
    pub bytes: u64,
    /// Bytes of that not yet sent.
    pub left: u64,
    /// Packets of it, and those of them that have arrived.
    pub packets: u64,
    pub arrived: u64,
    /// When the last acknowledgement known so far comes back.
    pub completed: Cycles,
    /// What the headers of its packets say to begin with: see [`Routes::state`](crate::routes::Routes::state).
    pub state: u16,
}

impl<T> State<T> {
    /// Who sends its packets, and to whom.
    #[inline]
    pub fn ends(&self) -> (u32, u32) {
        if self.data && self.message.kind == Kind::Read {
            (self.message.to, self.message.from)
        } else {
            (self.message.from, self.message.to)
        }
    }
}

impl<T> State<T> {
    /// Calls for what is asked of it, unless that is in the processor's caches.
    #[inline]
    pub fn call(&self) -> u64 {
        let ends = self.message.from ^ self.message.to;
        let injected = self.injected.unwrap_or(self.left);
        injected ^ self.arrived ^ self.packets ^ self.completed ^ u64::from(ends)
    }
}
