//! Slab: a container of values in numbered slots, which are reused after removal.

use crate::{Id, Table};
use std::ops::{Index, IndexMut};

/// A slab: values in numbered slots, with LIFO reuse of freed slots.
///
/// A freed slot still contains its value until its next use, so the caller of `remove` can read it.
///
/// ```
/// use isthmus_kernel::{Slab, id};
///
/// id! {
///     /// A letter.
///     struct LetterId;
/// }
/// let mut slab: Slab<LetterId, char> = Slab::new();
/// let (a, b) = (slab.insert('a'), slab.insert('b'));
/// slab.remove(a);
/// assert_eq!((slab.insert('c'), slab.len()), (a, 2));
/// assert_eq!((slab[a], slab[b]), ('c', 'b'));
/// slab.remove(b);
/// assert_eq!(slab.used(), [true, false]);
/// ```
#[derive(Debug, Clone)]
pub struct Slab<I, V> {
    values: Table<I, V>,
    /// Stack of free slots, in the first `count` entries. The vector has an entry for each slot, so
    /// freeing a slot allocates nothing.
    free: Vec<I>,
    /// Number of free slots, which is the height of the stack `free`.
    count: usize,
}

impl<I: Id, V> Default for Slab<I, V> {
    /// Return an empty slab.
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, V> Slab<I, V> {
    /// Return an empty slab.
    pub fn new() -> Self {
        Self {
            values: Table::from(Vec::new()),
            free: Vec::new(),
            count: 0,
        }
    }

    /// Store a value in a free slot and return the slot.
    #[inline]
    pub fn insert(&mut self, value: V) -> I {
        if self.count > 0 {
            self.count -= 1;
            let slot = self.free[self.count];
            self.values[slot] = value;
            return slot;
        }
        self.free.push(I::NONE);
        self.values.push(value)
    }

    /// Free a used slot. Return the value, which remains in the slot until the next use of the
    /// slot.
    #[inline]
    pub fn remove(&mut self, slot: I) -> &mut V {
        self.free[self.count] = slot;
        self.count += 1;
        &mut self.values[slot]
    }

    /// Return the number of used slots of the slab.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.values().len() - self.count
    }

    /// Return whether all slots are free.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the values of all slots, used and free, ordered by slot number.
    #[inline]
    pub fn values(&self) -> &[V] {
        self.values.values()
    }

    /// Return the values of all slots, used and free, for changes, ordered by slot number.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [V] {
        self.values.values_mut()
    }

    /// Return whether each slot is used, ordered by slot number.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![true; self.values().len()];
        for &slot in &self.free[..self.count] {
            used[slot.index()] = false;
        }
        used
    }
}

impl<I: Id, V> Index<I> for Slab<I, V> {
    /// The type of the values in the slots.
    type Output = V;

    /// Return the value in this slot.
    #[inline]
    fn index(&self, slot: I) -> &V {
        &self.values[slot]
    }
}

impl<I: Id, V> IndexMut<I> for Slab<I, V> {
    /// Return the value in this slot, for changes.
    #[inline]
    fn index_mut(&mut self, slot: I) -> &mut V {
        &mut self.values[slot]
    }
}
