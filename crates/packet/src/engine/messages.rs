//! Messages from their offer to their delivery.

use crate::traffic::{Kind, Message};
use isthmus_kernel::Cycles;

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
    /// What the headers of its packets say to begin with: see [`Ways::state`](crate::ways::Ways::state).
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

/// All messages, in slots used again.
#[derive(Debug, Clone)]
pub(super) struct Messages<T> {
    slots: Vec<State<T>>,
    free: Vec<u32>,
}

impl<T> Default for Messages<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Messages<T> {
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }

    pub fn insert(&mut self, state: State<T>) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = state;
            return slot;
        }
        self.slots.push(state);
        self.slots.len() as u32 - 1
    }

    pub fn remove(&mut self, message: u32) {
        self.free.push(message);
    }

    #[inline]
    pub fn get(&self, message: u32) -> &State<T> {
        &self.slots[message as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, message: u32) -> &mut State<T> {
        &mut self.slots[message as usize]
    }

    /// Calls for a message, unless it is in the processor's caches.
    #[inline]
    pub fn call(&self, message: u32) -> u64 {
        let state = self.get(message);
        let ends = state.message.from ^ state.message.to;
        let injected = state.injected.unwrap_or(state.left);
        injected ^ state.arrived ^ state.packets ^ state.completed ^ u64::from(ends)
    }

    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
