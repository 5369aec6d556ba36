//! Room in buffers that comes back.

use super::core::NEVER;
use isthmus_kernel::Cycles;
use std::collections::VecDeque;

/// Bytes of room that a sender will know of, and when, in order of time. The first lie here, where
/// most questions are answered, the others behind them in memory of their own.
#[derive(Debug, Clone)]
pub(super) struct Returns {
    /// When the first come; never if none do.
    next: Cycles,
    bytes: u32,
    later: VecDeque<(Cycles, u32)>,
}

impl Returns {
    pub const fn new() -> Self {
        Self {
            next: NEVER,
            bytes: 0,
            later: VecDeque::new(),
        }
    }

    pub fn clear(&mut self) {
        self.next = NEVER;
        self.later.clear();
    }

    /// When the first come; never if none do.
    #[inline]
    pub fn next(&self) -> Cycles {
        self.next
    }

    /// Bytes that will be known at `time`, which is no sooner than that of those before.
    #[inline]
    pub fn push(&mut self, time: Cycles, bytes: u32) {
        if self.next == NEVER {
            (self.next, self.bytes) = (time, bytes);
        } else {
            self.later.push_back((time, bytes));
        }
    }

    /// Those that are known by now.
    pub fn due(&self, now: Cycles) -> u32 {
        if self.next > now {
            return 0;
        }
        let later = self.later.iter().take_while(|&&(time, _)| time <= now);
        self.bytes + later.map(|&(_, bytes)| bytes).sum::<u32>()
    }

    /// Takes those that are known by now.
    #[inline]
    pub fn take(&mut self, now: Cycles) -> u32 {
        let mut bytes = 0;
        while self.next <= now {
            bytes += self.bytes;
            (self.next, self.bytes) = self.later.pop_front().unwrap_or((NEVER, 0));
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn comes_back_like_a_list(steps in prop::collection::vec((0u64..3, 1u32..9, 0u64..4), 0..60)) {
            let (mut returns, mut list) = (Returns::new(), Vec::new());
            let (mut last, mut now) = (0, 0);
            for (later, bytes, passed) in steps {
                last = last.max(now) + later;
                returns.push(last, bytes);
                list.push((last, bytes));
                now += passed;
                let known = list.iter().filter(|&&(time, _)| time <= now);
                prop_assert_eq!(returns.take(now), known.map(|&(_, bytes)| bytes).sum::<u32>());
                list.retain(|&(time, _)| time > now);
                prop_assert_eq!(returns.next(), list.first().map_or(NEVER, |&(time, _)| time));
            }
        }
    }
}
