//! Queue of events in order of time, and within a tick by their order key.
//!
//! The queue is a wheel of slots of several ticks each, with a bitmap to find the next slot in use,
//! and a heap for events beyond the wheel. The events of a slot are a list, which is sorted when
//! the engine reaches the slot. The list is almost in order before that, because most events are
//! scheduled with similar delays. Slots reuse the memory of the lists of earlier slots.
//!
//! A tick (100 ps, for example) is short compared with the time between events (some ns). Slots of
//! one tick each, as in `isthmus_kernel::EventQueue`, would almost all be empty.

use super::event::Event;
use isthmus_kernel::Cycles;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of slots of the wheel: the number of bits in 64 words, which a bitmap of one word
/// indexes.
const SLOTS: u64 = 64 * 64;

/// A scheduled event and its time.
type Entry = (Cycles, Event);

/// Lists up to this length are sorted by insertion.
const FEW: usize = 48;

/// The queue of events: see the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Queue {
    now: Cycles,
    /// Number, counted from time 0, of the slot whose events are in `due`.
    slot: u64,
    /// Binary logarithm of the number of ticks in a slot.
    shift: u32,
    /// Sorted events of the present slot, and the number of these events already served.
    due: Vec<Entry>,
    served: usize,
    /// Events of each slot of the wheel, in any order.
    slots: Box<[Vec<Entry>]>,
    /// Empty event lists of those slots of the wheel whose events have all been served. Later slots
    /// reuse their memory.
    spare: Vec<Vec<Entry>>,
    /// Bitmap of the wheel's slots that have events. `words` is a bitmap of its words that are not
    /// 0.
    used: Box<[u64; 64]>,
    words: u64,
    /// Events that are too far in the future for the wheel.
    far: BinaryHeap<Reverse<Entry>>,
    /// Slot of the first event that is too far in the future for the wheel; `Cycles::MAX` if there
    /// is none.
    far_slot: u64,
}

/// Return the sort key of a scheduled event: its time, and its order within the tick.
#[inline]
fn order(&(time, event): &Entry) -> (Cycles, u64) {
    (time, event.order_key())
}

impl Queue {
    /// Return an empty queue at time 0. The wheel reaches at least `span` ticks ahead.
    pub fn new(span: Cycles) -> Self {
        Self {
            now: 0,
            slot: 0,
            shift: (span / (SLOTS - 1) + 1)
                .next_power_of_two()
                .trailing_zeros(),
            due: Vec::new(),
            served: 0,
            slots: vec![Vec::new(); SLOTS as usize].into_boxed_slice(),
            spare: Vec::new(),
            used: Box::new([0; 64]),
            words: 0,
            far: BinaryHeap::new(),
            far_slot: Cycles::MAX,
        }
    }

    /// Return the time of the event served last.
    #[inline]
    pub fn now(&self) -> Cycles {
        self.now
    }

    /// Return the number of the present slot, and its events that are not served yet.
    #[inline]
    pub fn slot(&self) -> (u64, &[Entry]) {
        (self.slot, &self.due[self.served..])
    }

    /// Return whether more events are due in the present tick.
    #[inline]
    pub fn has_more_now(&self) -> bool {
        (self.due.get(self.served)).is_some_and(|&(time, _)| time == self.now)
    }

    /// Add an event, which must not lie in the past.
    #[inline]
    pub fn push(&mut self, time: Cycles, event: Event) {
        debug_assert!(time >= self.now, "event at {time}, now {}", self.now);
        let ahead = (time >> self.shift).wrapping_sub(self.slot);
        if ahead.wrapping_sub(1) < SLOTS - 1 {
            let at = ((self.slot + ahead) % SLOTS) as usize;
            let list = &mut self.slots[at];
            if list.is_empty() {
                if list.capacity() == 0 {
                    *list = self.spare.pop().unwrap_or_default();
                }
                self.used[at / 64] |= 1 << (at % 64);
                self.words |= 1 << (at / 64);
            }
            list.push((time, event));
        } else {
            self.push_outside(time, event);
        }
    }

    /// Add an event that belongs to the present slot, or is too far in the future for the wheel.
    fn push_outside(&mut self, time: Cycles, event: Event) {
        let (slot, entry) = (time >> self.shift, (time, event));
        if slot > self.slot {
            self.far_slot = self.far_slot.min(slot);
            self.far.push(Reverse(entry));
        } else {
            let rest = &self.due[self.served..];
            let at = rest.partition_point(|other| order(other) <= order(&entry));
            self.due.insert(self.served + at, entry);
        }
    }

    /// Remove and return the next event, if it is due no later than `limit`.
    #[inline]
    pub fn pop_until(&mut self, limit: Cycles) -> Option<Event> {
        if self.served == self.due.len() && !self.advance(limit) {
            return None;
        }
        let (time, event) = self.due[self.served];
        if time > limit {
            return None;
        }
        self.now = time;
        self.served += 1;
        Some(event)
    }

    /// Return whether no event is left.
    pub fn is_empty(&self) -> bool {
        self.served == self.due.len() && self.words == 0 && self.far.is_empty()
    }

    /// Advance the queue to the next slot that has events, if that slot starts no later than
    /// `limit`. Return whether there is such a slot.
    fn advance(&mut self, limit: Cycles) -> bool {
        let near = self.next_used();
        let slot = near.min(self.far_slot);
        if slot == Cycles::MAX || slot << self.shift > limit {
            return false;
        }
        self.slot = slot;
        self.served = 0;
        self.due.clear();
        if near == slot {
            let at = (slot % SLOTS) as usize;
            let list = std::mem::take(&mut self.slots[at]);
            self.spare.push(std::mem::replace(&mut self.due, list));
            let word = &mut self.used[at / 64];
            *word &= !(1 << (at % 64));
            if *word == 0 {
                self.words &= !(1 << (at / 64));
            }
        }
        if self.far_slot == slot {
            self.collect_far();
        }
        sort(&mut self.due);
        true
    }

    /// Move the events of the present slot from the heap of distant events to the list `due`.
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

    /// Return the first slot of the wheel in use, counted from time 0; `Cycles::MAX` if there is
    /// none.
    #[inline]
    fn next_used(&self) -> u64 {
        if self.words == 0 {
            return Cycles::MAX;
        }
        // The present slot is empty. Its position in the wheel, and all positions before it, belong
        // to slots of the next turn of the wheel.
        let at = self.slot % SLOTS;
        let (word, bit) = ((at / 64) as usize, at % 64);
        let later = self.used[word] & (!0 << bit);
        if later != 0 {
            return self.slot - bit + u64::from(later.trailing_zeros());
        }
        // Rotate the bitmap of words, to search the words after the present one first and the
        // present one last.
        let turned = self.words.rotate_right(word as u32 + 1);
        let ahead = u64::from(turned.trailing_zeros()) + 1;
        let next = (word as u64 + ahead) % 64;
        let found = u64::from(self.used[next as usize].trailing_zeros());
        self.slot - bit + ahead * 64 + found
    }
}

/// Sort a list that is almost in order. The sort is stable.
#[inline]
fn sort(list: &mut [Entry]) {
    if list.len() > FEW {
        return list.sort_by_key(order);
    }
    for end in 1..list.len() {
        let entry = list[end];
        let key = order(&entry);
        let mut at = end;
        while at > 0 && order(&list[at - 1]) > key {
            list[at] = list[at - 1];
            at -= 1;
        }
        list[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Kind;
    use super::*;
    use proptest::prelude::*;

    /// All kinds of events, from which the test picks at random.
    const KINDS: [Kind; 8] = [
        Kind::Send,
        Kind::Remind,
        Kind::Inject,
        Kind::Deliver,
        Kind::Arrive,
        Kind::Start,
        Kind::Wake,
        Kind::Generate,
    ];

    proptest! {
        /// Checks that the queue returns events in the same order as a sorted list.
        #[test]
        fn serves_like_a_sorted_list(
            span in prop_oneof![1u64..100, 100u64..200_000],
            grain in prop_oneof![Just(1u64), Just(1_000)],
            steps in prop::collection::vec((0u32..9, 0u64..40_000, 0u64..60_000), 1..300),
        ) {
            let mut queue = Queue::new(span);
            let mut list: Vec<Entry> = Vec::new();
            let mut limit = 0;
            for (step, (count, delay, stretch)) in steps.into_iter().enumerate() {
                for k in 0..count {
                    let delay = delay * u64::from(k + 1) / 2 / grain * grain;
                    let time = limit.max(queue.now()) + delay;
                    let subject = (step as u32 * 9 + k).wrapping_mul(0x9E37_79B9);
                    let kind = KINDS[(subject % 8) as usize];
                    let event = Event::new(kind, subject >> 27, subject);
                    queue.push(time, event);
                    list.push((time, event));
                }
                list.sort_unstable();
                limit += stretch;
                let due = list.partition_point(|&(time, _)| time <= limit);
                // Events with the same key may be served in any order: check that the keys ascend,
                // then sort before the comparison.
                let mut served = Vec::new();
                while let Some(event) = queue.pop_until(limit) {
                    served.push((queue.now(), event));
                }
                prop_assert!(served.is_sorted_by_key(order));
                served.sort_unstable();
                prop_assert!(list.drain(..due).eq(served));
            }
        }
    }
}
