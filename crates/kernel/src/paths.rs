//! Paths beside the places of a [`Slab`](crate::Slab).

/// A path for each of many places, in one piece of memory: all have room for the longest so far.
///
/// ```
/// use isthmus_kernel::Paths;
///
/// let mut paths = Paths::new(2);
/// paths.make_room(0, 2);
/// paths.of_mut(0, 2).copy_from_slice(&[7, 8]);
/// paths.make_room(1, 3);
/// assert_eq!((paths.of(0, 3), paths.step(0, 1)), (&[7, 8, 0][..], 8));
/// ```
#[derive(Debug, Clone)]
pub struct Paths<V> {
    values: Vec<V>,
    stride: usize,
}

impl<V: Copy + Default> Paths<V> {
    /// Room for paths of `length`, for no place yet.
    pub const fn new(length: usize) -> Self {
        Self {
            values: Vec::new(),
            stride: length,
        }
    }

    /// Forgets all, and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
    }

    /// Makes room for a path of `length` at a place. What paths hold stays.
    #[inline]
    pub fn make_room(&mut self, place: u32, length: usize) {
        if length > self.stride {
            self.widen(length);
        }
        let end = (place as usize + 1) * self.stride;
        if self.values.len() < end {
            self.values.resize(end, V::default());
        }
    }

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

    /// The first so many steps of the path of a place.
    #[inline]
    pub fn of(&self, place: u32, length: usize) -> &[V] {
        debug_assert!(length <= self.stride);
        &self.values[place as usize * self.stride..][..length]
    }

    /// The same, to be changed.
    #[inline]
    pub fn of_mut(&mut self, place: u32, length: usize) -> &mut [V] {
        debug_assert!(length <= self.stride);
        &mut self.values[place as usize * self.stride..][..length]
    }

    /// Step `number` of the path of a place.
    #[inline]
    pub fn step(&self, place: u32, number: usize) -> V {
        debug_assert!(number < self.stride);
        self.values[place as usize * self.stride + number]
    }

    /// The same, to be changed.
    #[inline]
    pub fn step_mut(&mut self, place: u32, number: usize) -> &mut V {
        debug_assert!(number < self.stride);
        &mut self.values[place as usize * self.stride + number]
    }
}
