//! Room in buffers that comes back.

use super::core::NEVER;
use isthmus_kernel::{Cycles, Id, Slab, id};

id! {
    /// The place of room that comes back after other room of the same buffer.
    struct LaterId;
}

/// Bytes of room that a sender will know of, and when, in order of time. The first lie here, where
/// most questions are answered, the others in a store that all share.
#[derive(Debug, Clone)]
pub(super) struct Returns {
    /// When the first come; never if none do.
    next: Cycles,
    bytes: u32,
    /// The last of the others. They are a ring, in which the first comes after the last.
    last: LaterId,
}

/// What lies behind the first of each [`Returns`].
#[derive(Debug, Clone)]
pub(super) struct Later(Slab<LaterId, Known>);

#[derive(Debug, Clone, Copy)]
struct Known {
    time: Cycles,
    bytes: u32,
    next: LaterId,
}

impl Later {
    pub fn new() -> Self {
        Self(Slab::new())
    }

    /// Adds one behind the last of a ring. Answers with its place.
    fn push(&mut self, last: LaterId, time: Cycles, bytes: u32) -> LaterId {
        let next = LaterId::NONE;
        let place = self.0.insert(Known { time, bytes, next });
        let first = match last {
            LaterId::NONE => place,
            last => std::mem::replace(&mut self.0[last].next, place),
        };
        self.0[place].next = first;
        place
    }

    /// Takes the first of a ring: its time and bytes, and the last that is left.
    fn pop(&mut self, last: LaterId) -> (Cycles, u32, LaterId) {
        if last == LaterId::NONE {
            return (NEVER, 0, last);
        }
        let first = self.0[last].next;
        let Known { time, bytes, next } = *self.0.remove(first);
        if first == last {
            return (time, bytes, LaterId::NONE);
        }
        self.0[last].next = next;
        (time, bytes, last)
    }
}

impl Returns {
    pub const fn new() -> Self {
        Self {
            next: NEVER,
            bytes: 0,
            last: LaterId::NONE,
        }
    }

    /// When the first come; never if none do.
    #[inline]
    pub fn next(&self) -> Cycles {
        self.next
    }

    /// Bytes that will be known at `time`, which is no sooner than that of those before.
    #[inline]
    pub fn push(&mut self, time: Cycles, bytes: u32, later: &mut Later) {
        if self.next == NEVER {
            (self.next, self.bytes) = (time, bytes);
        } else {
            self.last = later.push(self.last, time, bytes);
        }
    }

    /// Those that are known by now.
    pub fn due(&self, now: Cycles, later: &Later) -> u32 {
        if self.next > now {
            return 0;
        }
        let mut bytes = self.bytes;
        if self.last != LaterId::NONE {
            let mut at = self.last;
            loop {
                at = later.0[at].next;
                let known = later.0[at];
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

    /// Takes those that are known by now.
    #[inline]
    pub fn take(&mut self, now: Cycles, later: &mut Later) -> u32 {
        let mut bytes = 0;
        while self.next <= now {
            bytes += self.bytes;
            (self.next, self.bytes, self.last) = later.pop(self.last);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Two that share a store, of which each is as if alone.
        #[test]
        fn comes_back_like_a_list(
            steps in prop::collection::vec((any::<bool>(), 0u64..3, 1u32..9, 0u64..4), 0..90),
        ) {
            let mut later = Later::new();
            let mut both = [(); 2].map(|()| (Returns::new(), Vec::new(), 0));
            let mut now = 0;
            for (second, delay, bytes, passed) in steps {
                let (returns, list, last) = &mut both[usize::from(second)];
                *last = now.max(*last) + delay;
                returns.push(*last, bytes, &mut later);
                list.push((*last, bytes));
                now += passed;
                let known = list.iter().filter(|&&(time, _)| time <= now);
                let known = known.map(|&(_, bytes)| bytes).sum::<u32>();
                prop_assert_eq!(returns.due(now, &later), known);
                prop_assert_eq!(returns.take(now, &mut later), known);
                list.retain(|&(time, _)| time > now);
                prop_assert_eq!(returns.next(), list.first().map_or(NEVER, |&(time, _)| time));
            }
            let left: usize = both.iter().map(|(_, list, _)| list.len().saturating_sub(1)).sum();
            prop_assert_eq!(later.0.len(), left);
        }
    }
}
