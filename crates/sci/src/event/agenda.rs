//! Agenda: an index of the numbers (of nodes or outputs) that are due, by time.
//!
//! Time is divided into slots of a power of two of cycles. Each of the next 64 slots has a bitmap
//! of the numbers that are due in it, and a coarser bitmap of the words of this bitmap that are not
//! 0. Numbers due later wait in a heap. So the engine visits, for a window, only the few slots of
//! the window, and in them only the words that are not 0, in order of the numbers.
//!
//! An array of the engine has the time at which each number is due. The agenda has an entry for
//! each of these times. It also has outdated entries, which it removes when it finds them.
//!
//! Where many numbers are due in every window, as in a small fabric or near saturation, entries
//! cost more than they save. Then the agenda changes to a form without entries, which scans all
//! numbers. After a fixed number of windows it chooses the form that is cheaper for the numbers
//! found in these windows. Both forms find the same numbers in the same order.

use isthmus_kernel::Cycles;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of slots of the agenda. A bitmap of one word has a bit for each slot.
const SLOTS: u64 = 64;

/// Number of time windows after which the agenda chooses its form (entries, or a scan of all
/// numbers) again.
const WINDOWS: u32 = 64;

/// Cost of adding and finding an entry, in units of the cost of scanning one number.
const ENTRY_COST: u64 = 6;
/// Minimum cost of a time window in the form with entries, in units of the cost of scanning one
/// number.
const WINDOW_COST: u64 = 16;

/// Index by time of the nodes or outputs that have an event: see the [module](self).
#[derive(Debug, Clone)]
pub(super) struct Agenda {
    /// Whether the agenda has the form without entries, which scans all numbers.
    scans: bool,
    /// Number of time windows since the agenda last chose its form. `found` is the number of due
    /// numbers that it found in these windows.
    windows: u32,
    found: u64,
    /// Binary logarithm of the length of a time slot in cycles.
    shift: u32,
    /// Time slot of the present window, counted from cycle 0. This slot and the next 63 have
    /// bitmaps; slot s has the bitmap s modulo 64.
    base: u64,
    /// Bitmap of the time slots that may have an entry.
    slots: u64,
    /// For each time slot, a bitmap with a bit for each word of the slot in `words`. The bit is set
    /// if the word may have an entry.
    used: Vec<u64>,
    /// Bitmaps of the time slots, one after another: a bit for each number that is due in the slot.
    words: Vec<u64>,
    /// Number of words of `used` for each time slot.
    used_each: usize,
    /// Number of words of `words` for each time slot.
    words_each: usize,
    /// Entries that are due later than all time slots with a bitmap.
    far: BinaryHeap<Reverse<(Cycles, u32)>>,
    /// For each number, the time of its last entry in the heap `far`, if this entry is still there.
    in_heap: Vec<Cycles>,
}

impl Agenda {
    /// Return an empty agenda for the numbers below `count`, for an engine with time windows of
    /// `hop` cycles. Slots are at least half as long as windows and no longer, so that a window
    /// covers three slots at most.
    pub fn new(count: usize, hop: Cycles) -> Self {
        let words_each = count.div_ceil(64);
        let used_each = words_each.div_ceil(64);
        Self {
            scans: true,
            windows: 0,
            found: 0,
            shift: hop.ilog2(),
            base: 0,
            slots: 0,
            used: vec![0; used_each * SLOTS as usize],
            words: vec![0; words_each * SLOTS as usize],
            used_each,
            words_each,
            far: BinaryHeap::new(),
            in_heap: vec![Cycles::MAX; count],
        }
    }

    /// Remove all entries from the agenda.
    fn clear(&mut self) {
        self.slots = 0;
        self.used.fill(0);
        self.words.fill(0);
        self.far.clear();
        self.in_heap.fill(Cycles::MAX);
    }

    /// Set the time at which `number` (a node or output) is due. It must not be before the start of
    /// the present time window; `Cycles::MAX` means never.
    #[inline]
    pub fn set_due(&mut self, number: u32, time: Cycles) {
        if !self.scans {
            self.insert(number, time);
        }
    }

    /// Set the time at which `number` (a node or output) is due, if it differs from `before`.
    #[inline]
    pub fn change_due(&mut self, number: u32, before: Cycles, time: Cycles) {
        // Compare the times only in the form with entries. The comparison costs time, because the
        // processor cannot predict its result.
        if !self.scans {
            self.insert_change(number, before, time);
        }
    }

    /// Insert an entry for `number` at `time`, unless its time was the same before (`before`).
    #[inline(never)]
    fn insert_change(&mut self, number: u32, before: Cycles, time: Cycles) {
        if time != before {
            self.insert(number, time);
        }
    }

    /// Insert an entry for `number` at `time`, into the bitmap of its slot or the heap.
    fn insert(&mut self, number: u32, time: Cycles) {
        let slot = time >> self.shift;
        debug_assert!(slot >= self.base, "slot {slot} before {}", self.base);
        if slot - self.base < SLOTS {
            self.mark(slot, number);
        } else if time != Cycles::MAX && time != self.in_heap[number as usize] {
            self.in_heap[number as usize] = time;
            self.far.push(Reverse((time, number)));
        }
    }

    /// Set the bit of `number` in the bitmap of a time slot.
    #[inline]
    fn mark(&mut self, slot: u64, number: u32) {
        let (slot, word) = ((slot % SLOTS) as usize, number as usize / 64);
        self.words[slot * self.words_each + word] |= 1 << (number % 64);
        self.used[slot * self.used_each + word / 64] |= 1 << (word % 64);
        self.slots |= 1 << slot;
    }

    /// Return the earliest time in `due`, which holds the time at which each number is due;
    /// `Cycles::MAX` means never. No time in `due` is before `now`.
    #[inline]
    pub fn first(&mut self, due: &[Cycles], now: Cycles) -> Cycles {
        if self.scans {
            first_of(due, now)
        } else {
            self.first_entry(due)
        }
    }

    /// Return the earliest time of all entries that are not outdated; `Cycles::MAX` for none.
    fn first_entry(&mut self, due: &[Cycles]) -> Cycles {
        let mut first = Cycles::MAX;
        while self.slots != 0 && first == Cycles::MAX {
            let turned = self.slots.rotate_right((self.base % SLOTS) as u32);
            first = self.first_in(self.base + u64::from(turned.trailing_zeros()), due);
        }
        while let Some(&Reverse((time, number))) = self.far.peek()
            && time < first
        {
            if due[number as usize] == time {
                return time;
            }
            self.pop_far();
        }
        first
    }

    /// Return the earliest time of the entries in a time slot. Remove outdated entries.
    fn first_in(&mut self, slot: u64, due: &[Cycles]) -> Cycles {
        let number = (slot % SLOTS) as usize;
        let words = &mut self.words[number * self.words_each..][..self.words_each];
        let used = &mut self.used[number * self.used_each..][..self.used_each];
        let mut first = Cycles::MAX;
        for (block, used) in used.iter_mut().enumerate() {
            for at in bits(*used) {
                let at = block * 64 + at;
                let mut kept = words[at];
                for bit in bits(words[at]) {
                    let time = due[at * 64 + bit];
                    if time >> self.shift == slot {
                        first = first.min(time);
                    } else {
                        kept &= !(1 << bit);
                    }
                }
                words[at] = kept;
                *used &= !(u64::from(kept == 0) << (at % 64));
            }
        }
        self.slots &= !(u64::from(first == Cycles::MAX) << number);
        first
    }

    /// Remove the first entry of the heap, which contains the entries due far in the future.
    fn pop_far(&mut self) {
        if let Some(Reverse((time, number))) = self.far.pop()
            && self.in_heap[number as usize] == time
        {
            self.in_heap[number as usize] = Cycles::MAX;
        }
    }

    /// Start a time window of the engine at `begin`, which is not after any time in `due`.
    #[inline]
    pub fn begin(&mut self, begin: Cycles, due: &[Cycles]) {
        self.base = begin >> self.shift;
        self.windows += 1;
        if self.windows == WINDOWS {
            self.choose_form(due);
        }
    }

    /// Choose the form of the agenda (entries, or a scan of all numbers) that would have been
    /// cheaper for the last time windows.
    #[cold]
    fn choose_form(&mut self, due: &[Cycles]) {
        let windows = u64::from(self.windows);
        let scans = self.found * ENTRY_COST + windows * WINDOW_COST >= windows * due.len() as u64;
        (self.windows, self.found) = (0, 0);
        if scans == self.scans {
            return;
        }
        self.scans = scans;
        self.clear();
        if !scans {
            for (number, &time) in (0..).zip(due) {
                self.insert(number, time);
            }
        }
    }

    /// Collect in `busy` the numbers that are due before `end`, the end of the time window, in
    /// ascending order, and remove their entries. The caller must set a new time for each of them.
    /// Return the number of collected numbers.
    pub fn collect(&mut self, due: &[Cycles], end: Cycles, busy: &mut [u32]) -> usize {
        let count = if self.scans {
            scan(due, end, busy)
        } else {
            self.collect_entries(due, end, busy)
        };
        self.found += count as u64;
        count
    }

    /// Collect the due numbers as [`Agenda::collect`] does, in the form with entries.
    fn collect_entries(&mut self, due: &[Cycles], end: Cycles, busy: &mut [u32]) -> usize {
        while let Some(&Reverse((time, number))) = self.far.peek()
            && time < end
        {
            self.mark(time >> self.shift, number);
            self.pop_far();
        }
        let last = (end - 1) >> self.shift;
        let mut count = 0;
        for block in 0..self.used_each {
            let in_use = |slot: u64| self.used[(slot % SLOTS) as usize * self.used_each + block];
            let used = (self.base..=last).fold(0, |used, slot| used | in_use(slot));
            for at in bits(used) {
                let at = block * 64 + at;
                let word_index = |slot: u64| (slot % SLOTS) as usize * self.words_each + at;
                let entries = (self.base..=last)
                    .fold(0, |entries, slot| entries | self.words[word_index(slot)]);
                let mut served = 0;
                // This loop has no branch: the processor cannot predict whether a number is due.
                for bit in bits(entries) {
                    let number = at * 64 + bit;
                    let is_due = due[number] < end;
                    busy[count] = number as u32;
                    count += usize::from(is_due);
                    served |= u64::from(is_due) << bit;
                }
                for slot in self.base..=last {
                    self.words[word_index(slot)] &= !served;
                }
            }
        }
        count
    }
}

/// Return the earliest time in `due`. No time is before `now`, so the search ends at a time equal
/// to `now`.
fn first_of(due: &[Cycles], now: Cycles) -> Cycles {
    let mut first = Cycles::MAX;
    for &time in due {
        first = first.min(time);
        if time <= now {
            break;
        }
    }
    first
}

/// Collect in `busy` the numbers that are due before `end`. The code has no branch, since the
/// processor cannot predict whether a number is due.
fn scan(due: &[Cycles], end: Cycles, busy: &mut [u32]) -> usize {
    let mut count = 0;
    for (number, &due) in due.iter().enumerate() {
        busy[count] = number as u32;
        count += usize::from(due < end);
    }
    count
}

/// Return the indices of the set bits of a word, in ascending order.
#[inline]
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as usize;
        word &= word.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that the agenda, in windows like those of the engine, finds the same numbers as a
        /// scan of all numbers.
        #[test]
        fn finds_the_same_numbers_as_a_full_scan(
            count in prop_oneof![1usize..70, 257usize..700, Just(5_000)],
            hop in prop_oneof![1u64..40, Just(150)],
            seeds in prop::collection::vec((any::<u32>(), 0u64..60, any::<bool>()), 1..400),
        ) {
            let mut due = vec![Cycles::MAX; count];
            let mut agenda = Agenda::new(count, hop);
            let mut busy = vec![0; count + 1];
            let mut now = 0;
            for (seed, delay, far) in seeds {
                // Change the time at which a number is due: earlier or later than its entry in the
                // agenda.
                let number = seed % count as u32;
                let time = now + if far { delay * delay * hop } else { delay };
                due[number as usize] = time;
                agenda.set_due(number, time);
                if seed % 3 > 0 {
                    continue;
                }
                let first = *due.iter().min().unwrap();
                prop_assert_eq!(agenda.first(&due, now), first);
                // End a run of the engine at `limit`, possibly before any number is due. Changes
                // after the run may then be due sooner.
                let limit = now + u64::from(seed % 7) * hop;
                if first >= limit {
                    now = limit;
                    continue;
                }
                let end = limit.min(first + hop);
                agenda.begin(first, &due);
                let found = agenda.collect(&due, end, &mut busy);
                let expected: Vec<u32> =
                    (0..count as u32).filter(|&number| due[number as usize] < end).collect();
                prop_assert_eq!(&busy[..found], &expected[..]);
                for number in expected {
                    due[number as usize] = match (seed ^ number) % 4 {
                        0 => Cycles::MAX,
                        step => end + u64::from(step) * u64::from(seed % 50) * hop / 3,
                    };
                    agenda.set_due(number, due[number as usize]);
                }
                now = end;
            }
        }
    }

    /// Checks that the agenda chooses the cheaper of its forms (entries, or a scan of all numbers),
    /// and that both find the same numbers.
    #[test]
    fn chooses_the_cheaper_form_and_finds_the_same_numbers() {
        let (count, hop) = (300, 16);
        let mut due = vec![Cycles::MAX; count];
        let mut agenda = Agenda::new(count, hop);
        let mut busy = vec![0; count + 1];
        let mut now = 0;
        // In each time window, one of `one_in` entries of `due` is due; the others are due much
        // later.
        for one_in in [1, 100, 1, 150, 2] {
            for number in 0..count as u32 {
                due[number as usize] = now;
                agenda.set_due(number, now);
            }
            for _ in 0..3 * WINDOWS {
                let first = *due.iter().min().unwrap();
                assert_eq!(agenda.first(&due, now), first);
                agenda.begin(first, &due);
                now = first + hop;
                let found = agenda.collect(&due, now, &mut busy);
                let is_due = |&number: &u32| due[number as usize] < now;
                let expected: Vec<u32> = (0..count as u32).filter(is_due).collect();
                assert_eq!(&busy[..found], &expected[..]);
                for number in expected {
                    let ahead = if number % one_in == 0 { 3 } else { 5_000 * hop };
                    due[number as usize] = now + ahead;
                    agenda.set_due(number, now + ahead);
                }
            }
            assert_eq!(agenda.scans, one_in <= 2, "one in {one_in}");
        }
    }
}
