//! A totally ordered event queue on integer time.
//!
//! Events are served in the order of their times, and events of the same time in the order of
//! `Ord`. Two equal events of the same time are interchangeable, so the sequence does not depend on
//! the implementation.
//!
//! The implementation is a timing wheel with one slot per cycle for the near future, and a binary
//! heap for later events. A bitmap finds the next used slot. An event takes constant time both in a
//! hypercube of 128 nodes (an event every few tens of cycles) and in one of a million nodes
//! (hundreds of events per cycle).

use crate::{Cycles, Id, Table, id};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

id! {
    /// Index of a node of the timing wheel, which contains one event.
    struct NodeId;
}

/// An event in the timing wheel: an entry of the linked list of the wheel's slot for its time.
#[derive(Debug, Clone, Copy)]
struct Node<E> {
    event: E,
    /// Next node in the list of the same slot, or in the list of free nodes.
    next: NodeId,
}

/// Time that stands for "no event".
const NEVER: Cycles = Cycles::MAX;
/// Number of cycles that the wheel covers. It exceeds the delays of the papers' machines at 0.05 us
/// per cycle (600 us = 12,000 cycles), and the wheel fits into the second-level cache.
const SPAN: u64 = 1 << 14;
/// Bit mask that maps a time to its slot in the wheel.
const MASK: u64 = SPAN - 1;
/// Number of 64-bit words in the bitmap of used slots.
const WORDS: usize = (SPAN / 64) as usize;

/// The event queue. `E` is an event; its `Ord` determines the order among the events of one time.
/// The lowest event is served first.
#[derive(Debug, Clone)]
pub struct EventQueue<E> {
    now: Cycles,
    /// Time of the earliest event that is not due now.
    next: Cycles,
    /// Time of the earliest event in the heap `far`, which contains the events beyond the wheel.
    next_far: Cycles,
    /// Events that are due now, in descending order, so that the last one is served first.
    due: Vec<E>,
    /// For each slot of the wheel, the first node of the list of its events.
    heads: Box<[NodeId]>,
    used: Box<[u64; WORDS]>,
    nodes: Table<NodeId, Node<E>>,
    /// First node of the list of unused nodes. When a slot is served, all nodes of its list are
    /// added to this list.
    free: NodeId,
    far: BinaryHeap<Reverse<(Cycles, E)>>,
}

impl<E: Copy + Ord> Default for EventQueue<E> {
    /// Return an empty queue at time zero.
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy + Ord> EventQueue<E> {
    /// Return an empty queue at time zero.
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

    /// Return the time of the last served event, or the time passed to [`EventQueue::advance_to`]
    /// if that is later.
    #[inline]
    pub fn now(&self) -> Cycles {
        self.now
    }

    /// Return the time of the next event, or `Cycles::MAX` if there is none.
    #[inline]
    pub fn next_time(&self) -> Cycles {
        if self.due.is_empty() {
            self.next
        } else {
            self.now
        }
    }

    /// Move the clock forward to `time`. The queue must contain no event for this time or earlier.
    ///
    /// # Panics
    /// In debug builds, if an event would be skipped or time would decrease.
    #[inline]
    pub fn advance_to(&mut self, time: Cycles) {
        debug_assert!(time == self.now || (time > self.now && time < self.next_time()));
        self.now = time;
    }

    /// Add an event at `time`, which must not be in the past.
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

    /// Add an event of the present time to `due`, the sorted list of events to serve now.
    fn push_due(&mut self, event: E) {
        let at = self.due.partition_point(|other| *other > event);
        self.due.insert(at, event);
    }

    /// Add an event to its slot in the timing wheel.
    #[inline]
    fn push_near(&mut self, time: Cycles, event: E) {
        let slot = (time & MASK) as usize;
        let next = self.heads[slot];
        let node = Node { event, next };
        let node_id = self.free;
        self.heads[slot] = if node_id == NodeId::NONE {
            self.nodes.push(node)
        } else {
            self.free = std::mem::replace(&mut self.nodes[node_id], node).next;
            node_id
        };
        self.used[slot / 64] |= 1 << (slot % 64);
    }

    /// Remove and return the next event if it is due no later than `limit`.
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

    /// Set the clock to `next`, the time of the earliest event, and collect all events of that time
    /// in `due`, the list of events to serve now.
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

    /// Move the events of the present time from the heap `far` into `due`, the events to serve now.
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

    /// Return the time of the first slot after `now` that contains events.
    #[inline]
    fn next_near(&self) -> Cycles {
        let start = (self.now + 1) & MASK;
        let first = (start / 64) as usize;
        let masked = self.used[first] & (u64::MAX << (start % 64));
        if masked != 0 {
            return self.time_of(first as u64 * 64 + u64::from(masked.trailing_zeros()));
        }
        // The last iteration searches the first word of the bitmap again, for the slots before
        // `start`.
        for step in 1..=WORDS {
            let word = (first + step) % WORDS;
            if self.used[word] != 0 {
                let bit = u64::from(self.used[word].trailing_zeros());
                return self.time_of(word as u64 * 64 + bit);
            }
        }
        NEVER
    }

    /// Return the first time after `now` that belongs to this slot of the wheel.
    fn time_of(&self, slot: u64) -> Cycles {
        self.now + 1 + (slot.wrapping_sub(self.now + 1) & MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sorted list of events, the reference with which the test compares the queue.
    #[derive(Default)]
    struct Sorted(Vec<(Cycles, u64, u32)>);

    impl Sorted {
        /// Remove and return the earliest event.
        fn pop(&mut self) -> Option<(Cycles, u64, u32)> {
            self.0.sort_unstable();
            (!self.0.is_empty()).then(|| self.0.remove(0))
        }
    }

    proptest! {
        /// Checks that the event queue returns events in the same order as a sorted list.
        #[test]
        fn serves_like_a_sorted_list(
            steps in prop::collection::vec((0u64..3, 0u64..40_000, any::<bool>()), 1..300)
        ) {
            let mut queue = EventQueue::new();
            let mut oracle = Sorted::default();
            let mut order = 0u64;
            for (count, delay, pop) in steps {
                for k in 0..count {
                    // Give each event a different, scrambled rank, so that events of one time have
                    // a definite order.
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

    /// Checks that the queue returns no events beyond the limit, and returns them later with a
    /// higher limit.
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
