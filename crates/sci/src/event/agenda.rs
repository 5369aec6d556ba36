//! Who is to be looked at when.
//!
//! Time is cut into slots of a power of two of cycles. Each of the next 64 slots has a bitmap of
//! those that are due in it, and a coarser one of the words in use; what lies further ahead waits
//! in a heap. So a window looks at the few slots that it covers, and in them at words in use only,
//! in order of the numbers.
//!
//! When a number is due is kept by the engine. The agenda has notes of where to look: there is one
//! for the time at which each number is due, and others that are out of date, which are dropped
//! when they are come across.
//!
//! Where many are due in every window, as in a small fabric or near saturation, notes cost more
//! than they save. The agenda then changes to another form, without notes: it looks at everybody.
//! Every so many windows it counts how many were found and takes the form that is cheaper for
//! these. Who is found, and in which order, is the same in both.

use isthmus_kernel::Cycles;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots that have a bitmap, as many as one word can tell.
const SLOTS: u64 = 64;

/// Number of windows after which the form is chosen again.
const WINDOWS: u32 = 64;

/// What it costs to note and find one that is due, and what a window with notes costs at least, in
/// looks at one number.
const NOTE_COST: u64 = 6;
const WINDOW_COST: u64 = 16;

/// Notes of who is due when.
#[derive(Debug, Clone)]
pub(super) struct Agenda {
    /// Whether everybody is looked at and nothing is noted.
    looks: bool,
    /// Windows since the form was chosen, and how many were found due in them.
    windows: u32,
    found: u64,
    /// A slot has 2 to the power of this cycles.
    shift: u32,
    /// The slot of the present window, counted from cycle 0. It and the 63 after it have bitmaps;
    /// that of slot s is number s modulo 64.
    base: u64,
    /// Which bitmaps may have a note.
    slots: u64,
    /// For each bitmap, which of its words may have a note: a bit for each.
    used: Vec<u64>,
    /// The bitmaps, one after another: a bit for each number.
    words: Vec<u64>,
    used_each: usize,
    words_each: usize,
    /// Those due later.
    far: BinaryHeap<Reverse<(Cycles, u32)>>,
    /// For each number the last time that was put into the heap, if it is still there.
    in_heap: Vec<Cycles>,
}

impl Agenda {
    /// An empty agenda for the numbers below `count`. Slots are as long as windows of `hop` cycles
    /// or up to a half shorter, so that a window covers three at most.
    pub fn new(count: usize, hop: Cycles) -> Self {
        let words_each = count.div_ceil(64);
        let used_each = words_each.div_ceil(64);
        Self {
            looks: true,
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

    /// Drops all notes.
    fn forget(&mut self) {
        self.slots = 0;
        self.used.fill(0);
        self.words.fill(0);
        self.far.clear();
        self.in_heap.fill(Cycles::MAX);
    }

    /// Notes that `number` is due at `time`, no sooner than the present window begins;
    /// `Cycles::MAX` is never.
    #[inline]
    pub fn note(&mut self, number: u32, time: Cycles) {
        if !self.looks {
            self.put(number, time);
        }
    }

    /// Notes that `number` is due at `time` if it was at another `before`.
    #[inline]
    pub fn note_change(&mut self, number: u32, before: Cycles, time: Cycles) {
        // Only here the two are compared: without notes, whether they differ cannot be foreseen.
        if !self.looks {
            self.put_change(number, before, time);
        }
    }

    #[inline(never)]
    fn put_change(&mut self, number: u32, before: Cycles, time: Cycles) {
        if time != before {
            self.put(number, time);
        }
    }

    fn put(&mut self, number: u32, time: Cycles) {
        let slot = time >> self.shift;
        debug_assert!(slot >= self.base, "slot {slot} before {}", self.base);
        if slot - self.base < SLOTS {
            self.mark(slot, number);
        } else if time != Cycles::MAX && time != self.in_heap[number as usize] {
            self.in_heap[number as usize] = time;
            self.far.push(Reverse((time, number)));
        }
    }

    #[inline]
    fn mark(&mut self, slot: u64, number: u32) {
        let (slot, word) = ((slot % SLOTS) as usize, number as usize / 64);
        self.words[slot * self.words_each + word] |= 1 << (number % 64);
        self.used[slot * self.used_each + word / 64] |= 1 << (word % 64);
        self.slots |= 1 << slot;
    }

    /// The first time at which any of those is due whose times are `due`, none of them before
    /// `now`; `Cycles::MAX` for never.
    #[inline]
    pub fn first(&mut self, due: &[Cycles], now: Cycles) -> Cycles {
        if self.looks {
            first_of(due, now)
        } else {
            self.first_noted(due)
        }
    }

    fn first_noted(&mut self, due: &[Cycles]) -> Cycles {
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

    /// The first time in a slot. Drops notes that are out of date.
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

    fn pop_far(&mut self) {
        if let Some(Reverse((time, number))) = self.far.pop()
            && self.in_heap[number as usize] == time
        {
            self.in_heap[number as usize] = Cycles::MAX;
        }
    }

    /// A window begins at `begin`, before which none of `due` is.
    #[inline]
    pub fn begin(&mut self, begin: Cycles, due: &[Cycles]) {
        self.base = begin >> self.shift;
        self.windows += 1;
        if self.windows == WINDOWS {
            self.choose(due);
        }
    }

    /// Takes the form that would have been cheaper for the last windows.
    #[cold]
    fn choose(&mut self, due: &[Cycles]) {
        let windows = u64::from(self.windows);
        let looks = self.found * NOTE_COST + windows * WINDOW_COST >= windows * due.len() as u64;
        (self.windows, self.found) = (0, 0);
        if looks == self.looks {
            return;
        }
        self.looks = looks;
        self.forget();
        if !looks {
            for (number, &time) in (0..).zip(due) {
                self.put(number, time);
            }
        }
    }

    /// Collects the numbers of those that are due before the window ends, in rising order, and
    /// drops their notes: each needs a new one when it has been served. Returns how many.
    pub fn collect(&mut self, due: &[Cycles], end: Cycles, busy: &mut [u32]) -> usize {
        let count = if self.looks {
            look(due, end, busy)
        } else {
            self.collect_noted(due, end, busy)
        };
        self.found += count as u64;
        count
    }

    fn collect_noted(&mut self, due: &[Cycles], end: Cycles, busy: &mut [u32]) -> usize {
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
                let place = |slot: u64| (slot % SLOTS) as usize * self.words_each + at;
                let noted =
                    (self.base..=last).fold(0, |noted, slot| noted | self.words[place(slot)]);
                let mut served = 0;
                // Without a branch: whether one is due cannot be foreseen.
                for bit in bits(noted) {
                    let number = at * 64 + bit;
                    let is_due = due[number] < end;
                    busy[count] = number as u32;
                    count += usize::from(is_due);
                    served |= u64::from(is_due) << bit;
                }
                for slot in self.base..=last {
                    self.words[place(slot)] &= !served;
                }
            }
        }
        count
    }
}

/// The first time of all, none of them before `now`: nobody is looked at behind one at `now`.
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

/// Collects those of all that are due before `end`. Without a branch: whether one is due cannot be
/// foreseen.
fn look(due: &[Cycles], end: Cycles, busy: &mut [u32]) -> usize {
    let mut count = 0;
    for (number, &due) in due.iter().enumerate() {
        busy[count] = number as u32;
        count += usize::from(due < end);
    }
    count
}

/// The places of the bits of a word that are set, in rising order.
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
        /// Windows as the engine makes them, beside a look at everybody.
        #[test]
        fn finds_those_that_a_look_at_everybody_finds(
            count in prop_oneof![1usize..70, 257usize..700, Just(5_000)],
            hop in prop_oneof![1u64..40, Just(150)],
            seeds in prop::collection::vec((any::<u32>(), 0u64..60, any::<bool>()), 1..400),
        ) {
            let mut due = vec![Cycles::MAX; count];
            let mut agenda = Agenda::new(count, hop);
            let mut busy = vec![0; count + 1];
            let mut now = 0;
            for (seed, delay, far) in seeds {
                // Somebody becomes due sooner, or later than noted.
                let number = seed % count as u32;
                let time = now + if far { delay * delay * hop } else { delay };
                due[number as usize] = time;
                agenda.note(number, time);
                if seed % 3 > 0 {
                    continue;
                }
                let first = *due.iter().min().unwrap();
                prop_assert_eq!(agenda.first(&due, now), first);
                // A run may end before anything is due, and what comes then may be due sooner.
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
                    agenda.note(number, due[number as usize]);
                }
                now = end;
            }
        }
    }

    #[test]
    fn takes_the_form_that_is_cheaper_and_finds_the_same() {
        let (count, hop) = (300, 16);
        let mut due = vec![Cycles::MAX; count];
        let mut agenda = Agenda::new(count, hop);
        let mut busy = vec![0; count + 1];
        let mut now = 0;
        // One in so many is due in each window, the others far ahead.
        for one_in in [1, 100, 1, 150, 2] {
            for number in 0..count as u32 {
                due[number as usize] = now;
                agenda.note(number, now);
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
                    agenda.note(number, now + ahead);
                }
            }
            assert_eq!(agenda.looks, one_in <= 2, "one in {one_in}");
        }
    }
}
