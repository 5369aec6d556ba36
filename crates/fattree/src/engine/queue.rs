//! Events in order of time, and within a tick in their own order.
//!
//! A wheel of slots of several ticks each, with a bitmap to find the next slot in use, and a heap
//! for what lies beyond the wheel. A slot's events are sorted when its time has come. Ticks are
//! short beside the time between events here (100 ps and some ns), so slots of one tick each, as in
//! `isthmus_kernel::EventQueue`, would be empty almost all.

use super::event::Event;
use isthmus_kernel::Cycles;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots of the wheel: as many as two levels of bitmap words can tell.
const SLOTS: u64 = 64 * 64;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    time: Cycles,
    event: Event,
    next: u32,
}

/// The queue.
#[derive(Debug, Clone)]
pub(super) struct Queue {
    now: Cycles,
    /// The slot, counted from time 0, whose events are in `due`.
    slot: u64,
    /// A slot has 2 to the power of this ticks.
    shift: u32,
    /// The events of the present slot, the first last.
    due: Vec<(Cycles, Event)>,
    heads: Box<[u32]>,
    /// Which slots are in use, and which words of that are not 0.
    used: Box<[u64; 64]>,
    words: u64,
    entries: Vec<Entry>,
    free: u32,
    far: BinaryHeap<Reverse<(Cycles, Event)>>,
    /// The slot of the first event beyond the wheel; never if there is none.
    far_slot: u64,
}

impl Queue {
    /// An empty queue at time 0. The wheel looks at least `span` ticks ahead.
    pub fn new(span: Cycles) -> Self {
        Self {
            now: 0,
            slot: 0,
            shift: (span / (SLOTS - 1) + 1)
                .next_power_of_two()
                .trailing_zeros(),
            due: Vec::new(),
            heads: vec![NONE; SLOTS as usize].into_boxed_slice(),
            used: Box::new([0; 64]),
            words: 0,
            entries: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            far_slot: Cycles::MAX,
        }
    }

    /// Empties the queue and goes back to time 0. Keeps the memory.
    pub fn clear(&mut self) {
        self.now = 0;
        self.slot = 0;
        self.due.clear();
        self.heads.fill(NONE);
        self.used.fill(0);
        self.words = 0;
        self.entries.clear();
        self.free = NONE;
        self.far.clear();
        self.far_slot = Cycles::MAX;
    }

    /// The time of the event served last.
    #[inline]
    pub fn now(&self) -> Cycles {
        self.now
    }

    /// The slot whose events are being served, and those of it that are still to come.
    #[inline]
    pub fn slot(&self) -> (u64, &[(Cycles, Event)]) {
        (self.slot, &self.due)
    }

    /// Whether more is due in the present tick.
    #[inline]
    pub fn more_now(&self) -> bool {
        self.due.last().is_some_and(|&(time, _)| time == self.now)
    }

    /// Adds an event, which must not lie in the past.
    #[inline]
    pub fn push(&mut self, time: Cycles, event: Event) {
        debug_assert!(time >= self.now, "event at {time}, now {}", self.now);
        let slot = time >> self.shift;
        if slot <= self.slot {
            let at = self.due.partition_point(|&other| other > (time, event));
            self.due.insert(at, (time, event));
        } else if slot - self.slot < SLOTS {
            let at = (slot % SLOTS) as usize;
            let entry = Entry {
                time,
                event,
                next: self.heads[at],
            };
            self.heads[at] = if self.free == NONE {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            } else {
                let index = self.free;
                self.free = self.entries[index as usize].next;
                self.entries[index as usize] = entry;
                index
            };
            self.used[at / 64] |= 1 << (at % 64);
            self.words |= 1 << (at / 64);
        } else {
            self.far_slot = self.far_slot.min(slot);
            self.far.push(Reverse((time, event)));
        }
    }

    /// Serves the next event, if it is due no later than `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Cycles) -> Option<Event> {
        if let Some(&(time, event)) = self.due.last() {
            if time > limit {
                return None;
            }
            self.now = time;
            self.due.pop();
            return Some(event);
        }
        self.advance(limit)
    }

    /// Goes on to the next slot in use, if that begins no later than `limit`, and serves its first
    /// event, if that is due.
    fn advance(&mut self, limit: Cycles) -> Option<Event> {
        let near = self.next_used();
        let slot = near.min(self.far_slot);
        if slot == Cycles::MAX || slot << self.shift > limit {
            return None;
        }
        self.slot = slot;
        if near == slot {
            let at = (slot % SLOTS) as usize;
            let mut index = std::mem::replace(&mut self.heads[at], NONE);
            let word = &mut self.used[at / 64];
            *word &= !(1 << (at % 64));
            if *word == 0 {
                self.words &= !(1 << (at / 64));
            }
            let entry = &mut self.entries[index as usize];
            let (time, event) = (entry.time, entry.event);
            if entry.next == NONE && self.far_slot > slot && time <= limit {
                entry.next = self.free;
                self.free = index;
                self.now = time;
                return Some(event);
            }
            while index != NONE {
                let entry = &mut self.entries[index as usize];
                self.due.push((entry.time, entry.event));
                let next = std::mem::replace(&mut entry.next, self.free);
                self.free = index;
                index = next;
            }
        }
        if self.far_slot == slot {
            self.collect_far();
        }
        if self.due.len() > 1 {
            self.due.sort_unstable_by_key(|&entry| Reverse(entry));
        }
        let &(time, event) = self.due.last()?;
        if time > limit {
            return None;
        }
        self.now = time;
        self.due.pop();
        Some(event)
    }

    fn collect_far(&mut self) {
        self.far_slot = Cycles::MAX;
        while let Some(&Reverse((time, event))) = self.far.peek() {
            let slot = time >> self.shift;
            if slot > self.slot {
                self.far_slot = slot;
                return;
            }
            self.far.pop();
            self.due.push((time, event));
        }
    }

    /// The first slot of the wheel in use, counted from time 0; never if there is none.
    #[inline]
    fn next_used(&self) -> u64 {
        if self.words == 0 {
            return Cycles::MAX;
        }
        // The present slot is empty: it, and what lies before it in the wheel, is a turn ahead.
        let at = self.slot % SLOTS;
        let (word, bit) = ((at / 64) as usize, at % 64);
        let later = self.used[word] & (!0 << bit);
        if later != 0 {
            return self.slot - bit + u64::from(later.trailing_zeros());
        }
        // Words after this one, going around; this one comes last.
        let turned = self.words.rotate_right(word as u32 + 1);
        let ahead = u64::from(turned.trailing_zeros()) + 1;
        let next = (word as u64 + ahead) % 64;
        let found = u64::from(self.used[next as usize].trailing_zeros());
        self.slot - bit + ahead * 64 + found
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Kind;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn serves_like_a_sorted_list(
            span in prop_oneof![1u64..100, 100u64..200_000],
            steps in prop::collection::vec((0u32..3, 0u64..40_000, 0u64..60_000), 1..300),
        ) {
            let mut queue = Queue::new(span);
            let mut list: Vec<(Cycles, Event)> = Vec::new();
            let mut limit = 0;
            for (step, (count, delay, stretch)) in steps.into_iter().enumerate() {
                for k in 0..count {
                    let time = limit.max(queue.now()) + delay * u64::from(k + 1) / 2;
                    let event = Event::new(Kind::Arrive, 0, (step as u32).wrapping_mul(0x9E37_79B9));
                    queue.push(time, event);
                    list.push((time, event));
                }
                list.sort_unstable();
                limit += stretch;
                let due = list.partition_point(|&(time, _)| time <= limit);
                for (time, event) in list.drain(..due) {
                    prop_assert_eq!(queue.pop_until(limit), Some(event));
                    prop_assert_eq!(queue.now(), time);
                }
                prop_assert_eq!(queue.pop_until(limit), None);
            }
        }
    }
}
