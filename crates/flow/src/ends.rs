//! The end times of moving transfers: a heap whose entries can be moved.
//!
//! A change of shares moves the ends of many transfers a little. The heap moves their entries in
//! place, so that it never has outdated entries.

use isthmus_kernel::{Cycles, Id, id};

id! {
    /// Number of the slot of a transfer in the stores of the engine.
    pub(crate) struct FlowId;
}

/// Number of children of a heap entry.
const ARITY: usize = 4;

/// Heap entry of a transfer: its end time, its number, which breaks ties, and its slot.
type End = (Cycles, u64, FlowId);

/// Heap of the end times of all moving transfers. The earliest end is on top.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    heap: Vec<End>,
    /// Position in the heap of the entry of each transfer, by the transfer's slot.
    entries: Vec<u32>,
}

impl Ends {
    /// Returns the earliest end time of a moving transfer; `Cycles::MAX` if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Cycles {
        self.heap.first().map_or(Cycles::MAX, |end| end.0)
    }

    /// Adds a transfer that ends at `time`; `number` breaks ties between equal times.
    pub(crate) fn insert(&mut self, flow: FlowId, number: u64, time: Cycles) {
        if self.entries.len() <= flow.index() {
            self.entries.resize(flow.index() + 1, u32::MAX);
        }
        let entry = self.heap.len();
        self.heap.push((time, number, flow));
        self.sift_up(entry);
    }

    /// Changes the end time of a transfer to `time`.
    #[inline]
    pub(crate) fn set(&mut self, flow: FlowId, time: Cycles) {
        let entry = self.entries[flow.index()] as usize;
        let before = std::mem::replace(&mut self.heap[entry].0, time);
        if time < before {
            self.sift_up(entry);
        } else {
            self.sift_down(entry);
        }
    }

    /// Removes the transfer with the earliest end, and returns its slot.
    pub(crate) fn pop(&mut self) -> Option<FlowId> {
        let last = self.heap.pop()?;
        let Some(first) = self.heap.first_mut() else {
            return Some(last.2);
        };
        let first = std::mem::replace(first, last);
        self.sift_down(0);
        Some(first.2)
    }

    /// Write the entry `end` at position `entry` of the heap.
    #[inline]
    fn place_entry(&mut self, entry: usize, end: End) {
        self.heap[entry] = end;
        self.entries[end.2.index()] = entry as u32;
    }

    /// Move an entry towards the top of the heap until its parent is earlier.
    fn sift_up(&mut self, mut entry: usize) {
        let end = self.heap[entry];
        while entry > 0 {
            let parent = (entry - 1) / ARITY;
            if self.heap[parent] <= end {
                break;
            }
            self.place_entry(entry, self.heap[parent]);
            entry = parent;
        }
        self.place_entry(entry, end);
    }

    /// Move an entry away from the top of the heap until its children are later.
    fn sift_down(&mut self, mut entry: usize) {
        let end = self.heap[entry];
        loop {
            let first = entry * ARITY + 1;
            let children = first..self.heap.len().min(first + ARITY);
            let Some(least) = children.min_by_key(|&child| self.heap[child]) else {
                break;
            };
            if self.heap[least] >= end {
                break;
            }
            self.place_entry(entry, self.heap[least]);
            entry = least;
        }
        self.place_entry(entry, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Checks that the heap returns the earliest end first, by comparison with a sorted map.
        #[test]
        fn the_earliest_end_is_removed_first(
            steps in prop::collection::vec((0u32..40, 0u64..30, any::<bool>()), 1..300)
        ) {
            let mut ends = Ends::default();
            let mut times: BTreeMap<u32, Cycles> = BTreeMap::new();
            for (flow, time, pop) in steps {
                // Give the transfers numbers whose order differs from the order of their slots.
                let number = |flow: u32| u64::from(flow * 17 % 40);
                match times.insert(flow, time) {
                    None => ends.insert(FlowId::new(flow), number(flow), time),
                    Some(_) => ends.set(FlowId::new(flow), time),
                }
                let first = times.iter().map(|(&flow, &time)| (time, number(flow), flow)).min();
                let first = first.expect("there is one");
                prop_assert_eq!(ends.next_time(), first.0);
                if pop {
                    prop_assert_eq!(ends.pop(), Some(FlowId::new(first.2)));
                    times.remove(&first.2);
                }
            }
        }
    }
}
