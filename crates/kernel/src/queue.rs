//! A totally ordered event queue on integer time.
//!
//! Events are served by time and, within one time, by their own order. Two equal events of the
//! same time are interchangeable, so that the sequence does not depend on how the queue works
//! inside.
//!
//! Inside: a timing wheel of one slot per cycle for the near future, with a bitmap to find the
//! next slot in use, and a binary heap for what lies beyond the wheel. Both a hypercube of 128
//! nodes (an event every few tens of cycles) and one of a million (hundreds of events each cycle)
//! are served in constant time per event.

use crate::{Cycles, Id, Table, id};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

id! {
    /// The place of an event in the wheel.
    struct NodeId;
}

#[derive(Debug, Clone, Copy)]
struct Node<E> {
    event: E,
    /// The next of its slot, or of the places that are free.
    next: NodeId,
}

const NEVER: Cycles = Cycles::MAX;
/// Cycles that the wheel looks ahead: beyond the delays of the papers' machines at 0.05 us per
/// cycle (600 us = 12,000 cycles), small enough for the second-level cache.
const SPAN: u64 = 1 << 14;
const MASK: u64 = SPAN - 1;
const WORDS: usize = (SPAN / 64) as usize;

/// The queue. `E` says what is to happen, and its rank among the events of one time: the lowest is
/// served first.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    now: Cycles,
    /// The time of the earliest event that is not in `due`.
    next: Cycles,
    /// The earliest time in `far`.
    next_far: Cycles,
    /// Events of time `now`, the lowest last.
    due: Vec<E>,
    /// The first event of each slot.
    heads: Box<[NodeId]>,
    used: Box<[u64; WORDS]>,
    nodes: Table<NodeId, Node<E>>,
    /// The first free place: a slot that has been served gives back its list as a whole.
    free: NodeId,
    far: BinaryHeap<Reverse<(Cycles, E)>>,
}

impl<E: Copy + Ord> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy + Ord> EventQueue<E> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Self {
            now: 0,
            next: NEVER,
            next_far: NEVER,
            due: Vec::new(),
            heads: vec![NodeId::NONE; SPAN as usize].into_boxed_slice(),
            used: Box::new([0; WORDS]),
            nodes: Table::from(Vec::new()),
            free: NodeId::NONE,
            far: BinaryHeap::new(),
        }
    }

    /// The time of the event served last, or that given to [`EventQueue::advance_to`].
    #[inline]
    pub fn now(&self) -> Cycles {
        self.now
    }

    /// The time of the next event; `Cycles::MAX` if there is none.
    #[inline]
    pub fn next_time(&self) -> Cycles {
        if self.due.is_empty() {
            self.next
        } else {
            self.now
        }
    }

    /// Moves the clock forward to a time before which nothing is due.
    ///
    /// # Panics
    /// In debug builds, if an event would be passed over or time would go back.
    #[inline]
    pub fn advance_to(&mut self, time: Cycles) {
        debug_assert!(time == self.now || (time > self.now && time < self.next_time()));
        self.now = time;
    }

    /// Adds an event at `time`, which must not lie in the past.
    ///
    /// # Panics
    /// In debug builds, if `time` lies before [`EventQueue::now`].
    #[inline]
    pub fn push(&mut self, time: Cycles, event: E) {
        debug_assert!(time >= self.now, "event at {time}, now {}", self.now);
        if time == self.now {
            self.push_due(event);
        } else {
            self.next = self.next.min(time);
            if time - self.now < SPAN {
                self.push_near(time, event);
            } else {
                self.next_far = self.next_far.min(time);
                self.far.push(Reverse((time, event)));
            }
        }
    }

    fn push_due(&mut self, event: E) {
        let at = self.due.partition_point(|other| *other > event);
        self.due.insert(at, event);
    }

    #[inline]
    fn push_near(&mut self, time: Cycles, event: E) {
        let slot = (time & MASK) as usize;
        let next = self.heads[slot];
        let node = Node { event, next };
        let place = self.free;
        self.heads[slot] = if place == NodeId::NONE {
            self.nodes.push(node)
        } else {
            self.free = std::mem::replace(&mut self.nodes[place], node).next;
            place
        };
        self.used[slot / 64] |= 1 << (slot % 64);
    }

    /// Serves the next event, if it is due no later than `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Cycles) -> Option<E> {
        if let Some(event) = self.due.pop() {
            return Some(event);
        }
        if self.next > limit || self.next == NEVER {
            return None;
        }
        self.collect();
        self.due.pop()
    }

    /// Moves the clock to `next` and brings the events of that time into `due`.
    #[inline]
    fn collect(&mut self) {
        self.now = self.next;
        let slot = (self.now & MASK) as usize;
        let first = self.heads[slot];
        if first != NodeId::NONE {
            self.heads[slot] = NodeId::NONE;
            self.used[slot / 64] &= !(1 << (slot % 64));
            let mut last = first;
            loop {
                let node = self.nodes[last];
                self.due.push(node.event);
                if node.next == NodeId::NONE {
                    break;
                }
                last = node.next;
            }
            self.nodes[last].next = std::mem::replace(&mut self.free, first);
        }
        if self.next_far == self.now {
            self.collect_far();
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|event| Reverse(*event));
        }
        self.next = self.next_near().min(self.next_far);
    }

    #[cold]
    fn collect_far(&mut self) {
        while let Some(Reverse((time, event))) = self.far.peek()
            && *time == self.now
        {
            self.due.push(*event);
            self.far.pop();
        }
        self.next_far = self.far.peek().map_or(NEVER, |Reverse((time, _))| *time);
    }

    /// The time of the first used slot after `now`.
    #[inline]
    fn next_near(&self) -> Cycles {
        let start = (self.now + 1) & MASK;
        let first = (start / 64) as usize;
        let masked = self.used[first] & (u64::MAX << (start % 64));
        if masked != 0 {
            return self.time_of(first as u64 * 64 + u64::from(masked.trailing_zeros()));
        }
        // The last step comes back to the first word, for the slots before `start`.
        for step in 1..=WORDS {
            let word = (first + step) % WORDS;
            if self.used[word] != 0 {
                let bit = u64::from(self.used[word].trailing_zeros());
                return self.time_of(word as u64 * 64 + bit);
            }
        }
        NEVER
    }

    fn time_of(&self, slot: u64) -> Cycles {
        self.now + 1 + (slot.wrapping_sub(self.now + 1) & MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The oracle: a sorted list.
    #[derive(Default)]
    struct Sorted(Vec<(Cycles, u64, u32)>);

    impl Sorted {
        fn pop(&mut self) -> Option<(Cycles, u64, u32)> {
            self.0.sort_unstable();
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }
    }

    proptest! {
        #[test]
        fn serves_like_a_sorted_list(
            steps in prop::collection::vec((0u64..3, 0u64..40_000, any::<bool>()), 1..300)
        ) {
            let mut queue = EventQueue::new();
            let mut oracle = Sorted::default();
            let mut order = 0u64;
            for (count, delay, pop) in steps {
                for k in 0..count {
                    // Scrambled, unique orders.
                    order += 1;
                    let rank = order.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    let time = queue.now() + delay * (k + 1) / 2;
                    queue.push(time, (rank, order as u32));
                    oracle.0.push((time, rank, order as u32));
                }
                if pop {
                    let served = queue.pop_until(NEVER).map(|(rank, order)| (queue.now(), rank, order));
                    prop_assert_eq!(served, oracle.pop());
                }
            }
            while let Some(expected) = oracle.pop() {
                prop_assert_eq!(queue.next_time(), expected.0);
                let served = queue.pop_until(NEVER).map(|(rank, order)| (queue.now(), rank, order));
                prop_assert_eq!(served, Some(expected));
            }
            prop_assert_eq!(queue.pop_until(NEVER), None);
        }
    }

    #[test]
    fn a_limit_leaves_later_events_in_place() {
        let mut queue = EventQueue::new();
        queue.push(5, 'a');
        queue.push(50_000, 'b');
        assert_eq!(queue.pop_until(10), Some('a'));
        assert_eq!(queue.pop_until(49_999), None);
        assert_eq!(queue.now(), 5);
        assert_eq!(queue.next_time(), 50_000);
        assert_eq!(queue.pop_until(50_000), Some('b'));
    }
}
