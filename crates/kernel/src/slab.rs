//! Places that are used again.

use crate::{Id, Table};
use std::ops::{Index, IndexMut};

/// Values in numbered places, of which those given up are used again, the last one first.
///
/// A place that is given up keeps its value until another takes it: who gives it up may still look.
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
    /// The places that are free, then room for all others, so that giving one up needs no more.
    free: Vec<I>,
    /// How many are free.
    count: usize,
}

impl<I: Id, V> Default for Slab<I, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, V> Slab<I, V> {
    /// No places.
    pub fn new() -> Self {
        Self {
            values: Table::from(Vec::new()),
            free: Vec::new(),
            count: 0,
        }
    }

    /// Finds a place for a value.
    #[inline]
    pub fn insert(&mut self, value: V) -> I {
        if self.count > 0 {
            self.count -= 1;
            let place = self.free[self.count];
            self.values[place] = value;
            return place;
        }
        self.free.push(I::NONE);
        self.values.push(value)
    }

    /// Gives up a place, which is in use. What it holds still is the answer.
    #[inline]
    pub fn remove(&mut self, place: I) -> &mut V {
        self.free[self.count] = place;
        self.count += 1;
        &mut self.values[place]
    }

    /// Places in use.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.values().len() - self.count
    }

    /// Whether no place is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of all places, by number, those given up included.
    #[inline]
    pub fn values(&self) -> &[V] {
        self.values.values()
    }

    /// The same, to be changed.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [V] {
        self.values.values_mut()
    }

    /// Whether each place is in use, by number.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![true; self.values().len()];
        for &place in &self.free[..self.count] {
            used[place.index()] = false;
        }
        used
    }
}

impl<I: Id, V> Index<I> for Slab<I, V> {
    type Output = V;

    #[inline]
    fn index(&self, place: I) -> &V {
        &self.values[place]
    }
}

impl<I: Id, V> IndexMut<I> for Slab<I, V> {
    #[inline]
    fn index_mut(&mut self, place: I) -> &mut V {
        &mut self.values[place]
    }
}
