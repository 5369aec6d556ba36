//! Credits: messages to the sender of a link that buffer space behind the link is free again.

use super::core::NEVER;
use isthmus_kernel::{Cycles, Id, Slab, id};

id! {
    /// Number of the slot in [`Overflow`] of a later return of buffer space, after the first return
    /// of the same buffer.
    struct OverflowId;
}

/// List of the returns of one buffer, in order of time. A return is a message to the sender that
/// some bytes of the buffer are free again. This record stores the first return, which suffices for
/// most queries. The other returns are in an [`Overflow`] that all buffers share.
#[derive(Debug, Clone)]
pub(super) struct Returns {
    /// Time at which the first return reaches the sender; `NEVER` if there is none.
    next: Cycles,
    /// Number of buffer bytes that the first return frees.
    bytes: u32,
    /// The slot of the last return in the overflow. The returns there form a circular list: the
    /// entry of the last one names the slot of the first one.
    last: OverflowId,
}

/// Store that all buffers share for the returns of buffer space except the first return of each
/// buffer.
#[derive(Debug, Clone)]
pub(super) struct Overflow(Slab<OverflowId, Entry>);

/// A return of buffer space in the shared store, and the slot of the next return of the same
/// buffer.
#[derive(Debug, Clone, Copy)]
struct Entry {
    time: Cycles,
    bytes: u32,
    next: OverflowId,
}

impl Overflow {
    /// Create a store without returns of buffer space.
    pub fn new() -> Self {
        Self(Slab::new())
    }

    /// Add a return of buffer space to a ring (a circular list), after its last entry. Return the
    /// slot of the new entry.
    fn push(&mut self, last: OverflowId, time: Cycles, bytes: u32) -> OverflowId {
        let next = OverflowId::NONE;
        let place = self.0.insert(Entry { time, bytes, next });
        let first = match last {
            OverflowId::NONE => place,
            last => std::mem::replace(&mut self.0[last].next, place),
        };
        self.0[place].next = first;
        place
    }

    /// Remove the first entry of a ring (a circular list of returns). Return its time, its bytes
    /// and the last entry that remains.
    fn pop(&mut self, last: OverflowId) -> (Cycles, u32, OverflowId) {
        if last == OverflowId::NONE {
            return (NEVER, 0, last);
        }
        let first = self.0[last].next;
        let Entry { time, bytes, next } = *self.0.remove(first);
        if first == last {
            return (time, bytes, OverflowId::NONE);
        }
        self.0[last].next = next;
        (time, bytes, last)
    }
}

impl Returns {
    /// Create an empty list of returns of buffer space.
    pub const fn new() -> Self {
        Self {
            next: NEVER,
            bytes: 0,
            last: OverflowId::NONE,
        }
    }

    /// Return the time at which the next buffer bytes become free; `NEVER` if there are none.
    #[inline]
    pub fn next(&self) -> Cycles {
        self.next
    }

    /// Schedule the return of `bytes` at `time`, which must not be before the times of earlier
    /// returns.
    #[inline]
    pub fn push(&mut self, time: Cycles, bytes: u32, overflow: &mut Overflow) {
        if self.next == NEVER {
            (self.next, self.bytes) = (time, bytes);
        } else {
            self.last = overflow.push(self.last, time, bytes);
        }
    }

    /// Return the number of buffer bytes whose release has reached the sender by now.
    pub fn due_bytes(&self, now: Cycles, overflow: &Overflow) -> u32 {
        if self.next > now {
            return 0;
        }
        let mut bytes = self.bytes;
        if self.last != OverflowId::NONE {
            let mut at = self.last;
            loop {
                at = overflow.0[at].next;
                let known = overflow.0[at];
                if known.time > now {
                    break;
                }
                bytes += known.bytes;
                if at == self.last {
                    break;
                }
            }
        }
        bytes
    }

    /// Remove the returns that are due by now. Return the sum of their bytes.
    #[inline]
    pub fn take_due(&mut self, now: Cycles, overflow: &mut Overflow) -> u32 {
        let mut bytes = 0;
        while self.next <= now {
            bytes += self.bytes;
            (self.next, self.bytes, self.last) = overflow.pop(self.last);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that two lists of returns that share a store behave as if each had its own store.
        #[test]
        fn two_lists_in_one_store_are_independent(
            steps in prop::collection::vec((any::<bool>(), 0u64..3, 1u32..9, 0u64..4), 0..90),
        ) {
            let mut overflow = Overflow::new();
            let mut both = [(); 2].map(|()| (Returns::new(), Vec::new(), 0));
            let mut now = 0;
            for (second, delay, bytes, passed) in steps {
                let (returns, list, last) = &mut both[usize::from(second)];
                *last = now.max(*last) + delay;
                returns.push(*last, bytes, &mut overflow);
                list.push((*last, bytes));
                now += passed;
                let known = list.iter().filter(|&&(time, _)| time <= now);
                let known = known.map(|&(_, bytes)| bytes).sum::<u32>();
                prop_assert_eq!(returns.due_bytes(now, &overflow), known);
                prop_assert_eq!(returns.take_due(now, &mut overflow), known);
                list.retain(|&(time, _)| time > now);
                prop_assert_eq!(returns.next(), list.first().map_or(NEVER, |&(time, _)| time));
            }
            let left: usize = both.iter().map(|(_, list, _)| list.len().saturating_sub(1)).sum();
            prop_assert_eq!(overflow.0.len(), left);
        }
    }
}
