//! Places that are used again.

use std::ops::{Index, IndexMut};

/// Values in numbered places, of which those given up are used again, the last one first.
///
/// A place that is given up keeps its value until another takes it: who gives it up may still look.
///
/// ```
/// use isthmus_kernel::Slab;
///
/// let mut slab = Slab::new();
/// let (a, b) = (slab.insert('a'), slab.insert('b'));
/// slab.remove(a);
/// assert_eq!((slab.insert('c'), slab.len()), (a, 2));
/// assert_eq!((slab[a], slab[b]), ('c', 'b'));
/// slab.remove(b);
/// assert_eq!(slab.used(), [true, false]);
/// ```
#[derive(Debug, Clone)]
pub struct Slab<V> {
    values: Vec<V>,
    free: Vec<u32>,
}

impl<V> Default for Slab<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V> Slab<V> {
    /// No places.
    pub const fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Gives up all places, and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.free.clear();
    }

    /// Finds a place for a value.
    #[inline]
    pub fn insert(&mut self, value: V) -> u32 {
        if let Some(place) = self.free.pop() {
            self.values[place as usize] = value;
            return place;
        }
        self.values.push(value);
        self.values.len() as u32 - 1
    }

    /// Gives up a place, which is in use. What it holds still is the answer.
    #[inline]
    pub fn remove(&mut self, place: u32) -> &mut V {
        self.free.push(place);
        &mut self.values[place as usize]
    }

    /// Places in use.
    #[inline]
    pub fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Whether no place is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of all places, by number, those given up included.
    #[inline]
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// The same, to be changed.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// Whether each place is in use, by number.
    pub fn used(&self) -> Vec<bool> {
        let mut used = vec![true; self.values.len()];
        for &place in &self.free {
            used[place as usize] = false;
        }
        used
    }
}

impl<V> Index<u32> for Slab<V> {
    type Output = V;

    #[inline]
    fn index(&self, place: u32) -> &V {
        &self.values[place as usize]
    }
}

impl<V> IndexMut<u32> for Slab<V> {
    #[inline]
    fn index_mut(&mut self, place: u32) -> &mut V {
        &mut self.values[place as usize]
    }
}
