//! Paths (sequences of steps) of the entries of a [`Slab`](crate::Slab).

use crate::Id;
use std::marker::PhantomData;

/// A table with one path per slot of a slab, in one block of memory. Each slot has room for the
/// longest path so far.
///
/// ```
/// use isthmus_kernel::{Id, Paths, id};
///
/// id! {
///     /// A worm.
///     struct WormId;
/// }
/// let mut paths = Paths::new(2);
/// let [first, second] = [0, 1].map(WormId::new);
/// paths.make_room(first, 2);
/// paths.of_mut(first, 2).copy_from_slice(&[7, 8]);
/// paths.make_room(second, 3);
/// assert_eq!((paths.of(first, 3), paths.step(first, 1)), (&[7, 8, 0][..], 8));
/// ```
#[derive(Debug, Clone)]
pub struct Paths<I, V> {
    values: Vec<V>,
    stride: usize,
    of: PhantomData<fn(I)>,
}

impl<I: Id, V: Copy + Default> Paths<I, V> {
    /// Return an empty table with room for `length` steps per path.
    pub const fn new(length: usize) -> Self {
        Self {
            values: Vec::new(),
            stride: length,
            of: PhantomData,
        }
    }

    /// Make room for a path of `length` steps in a slot. Paths that the table already contains do
    /// not change.
    #[inline]
    pub fn make_room(&mut self, slot: I, length: usize) {
        if length > self.stride {
            self.widen(length);
        }
        let end = (slot.index() + 1) * self.stride;
        if self.values.len() < end {
            self.values.resize(end, V::default());
        }
    }

    /// Increase the room of each slot to `stride` steps and move the existing paths.
    #[cold]
    fn widen(&mut self, stride: usize) {
        let mut wide = vec![V::default(); self.values.len() / self.stride * stride];
        let narrow = self.values.chunks_exact(self.stride);
        for (wide, narrow) in wide.chunks_exact_mut(stride).zip(narrow) {
            wide[..self.stride].copy_from_slice(narrow);
        }
        self.values = wide;
        self.stride = stride;
    }

    /// Return the first `length` steps of the path in a slot.
    #[inline]
    pub fn of(&self, slot: I, length: usize) -> &[V] {
        debug_assert!(length <= self.stride);
        &self.values[slot.index() * self.stride..][..length]
    }

    /// Return the first `length` steps of the path in a slot, for changes.
    #[inline]
    pub fn of_mut(&mut self, slot: I, length: usize) -> &mut [V] {
        debug_assert!(length <= self.stride);
        &mut self.values[slot.index() * self.stride..][..length]
    }

    /// Return step `number` of the path in a slot.
    #[inline]
    pub fn step(&self, slot: I, number: usize) -> V {
        debug_assert!(number < self.stride);
        self.values[slot.index() * self.stride + number]
    }

    /// Return step `number` of the path in a slot, for changes.
    #[inline]
    pub fn step_mut(&mut self, slot: I, number: usize) -> &mut V {
        debug_assert!(number < self.stride);
        &mut self.values[slot.index() * self.stride + number]
    }
}
