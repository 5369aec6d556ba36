//! State of messages from the time they are offered to the engine until their delivery.

use crate::traffic::{Kind, Message};
use isthmus_kernel::Cycles;

/// State of a message in the engine, from its offer to its delivery.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageState<T> {
    pub message: Message<T>,
    pub generated: Cycles,
    /// Time at which the first packet was injected.
    pub injected: Option<Cycles>,
    /// Whether the message's packets in flight carry its data. If false, they are the request of a
    /// read.
    pub data: bool,
    /// Bytes of the data, or of the request of a read.
    pub bytes: u64,
    /// Bytes of the data or request that are not sent yet.
    pub unsent: u64,
    /// Number of packets of the data or request.
    pub packets: u64,
    /// Number of these packets that have arrived.
    pub arrived: u64,
    /// Latest time at which an acknowledgement of an arrived packet reaches the sender of the
    /// message.
    pub completed: Cycles,
    /// Initial state of the packets of this message: see
    /// [`Routes::initial_state`](crate::routes::Routes::initial_state).
    pub state: u16,
}

impl<T> MessageState<T> {
    /// Return the source and destination of the message's packets in flight. The data of a read
    /// goes from `to` to `from`.
    #[inline]
    pub fn ends(&self) -> (u32, u32) {
        if self.data && self.message.kind == Kind::Read {
            (self.message.to, self.message.from)
        } else {
            (self.message.from, self.message.to)
        }
    }
}

impl<T> MessageState<T> {
    /// Read the fields of the message that an event uses, so that the processor caches them. The
    /// result has no meaning.
    #[inline]
    pub fn prefetch(&self) -> u64 {
        let ends = self.message.from ^ self.message.to;
        let injected = self.injected.unwrap_or(self.unsent);
        injected ^ self.arrived ^ self.packets ^ self.completed ^ u64::from(ends)
    }
}
