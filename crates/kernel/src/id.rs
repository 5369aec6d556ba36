//! Typed numbers of things, and tables indexed by them.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The number of a thing of one kind. Types of different kinds do not mix. The macro
/// [`id!`](crate::id!) makes such types.
pub trait Id: Copy {
    /// The number that stands for no thing.
    const NONE: Self;

    /// Make an id from a number.
    fn new(number: u32) -> Self;

    /// Return the number.
    fn number(self) -> u32;

    /// Return the number as an index of an array.
    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }
}

/// Make types of numbers. The compiler then refuses a lane where a worm is expected:
///
/// ```compile_fail,E0277
/// use isthmus_kernel::{Id, Table, id};
///
/// id! {
///     /// A worm.
///     struct WormId;
///     /// A lane.
///     struct LaneId;
/// }
/// let free: Table<LaneId, u64> = Table::of(2, 0);
/// assert_eq!(free[WormId::new(1)], 0);
/// ```
#[macro_export]
macro_rules! id {
    ($($(#[$about:meta])* $visible:vis struct $Name:ident;)*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        $visible struct $Name(u32);

        impl $crate::Id for $Name {
            const NONE: Self = Self(u32::MAX);

            #[inline]
            fn new(number: u32) -> Self {
                Self(number)
            }

            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

/// A table with one value for each thing of a kind, indexed by its number from 0.
///
/// ```
/// use isthmus_kernel::{Id, Table, id};
///
/// id! {
///     /// A lane.
///     struct LaneId;
/// }
/// let mut free: Table<LaneId, u64> = Table::of(2, 0);
/// free[LaneId::new(1)] = 7;
/// assert_eq!(free.values(), [0, 7]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table<I, V> {
    values: Vec<V>,
    by: PhantomData<fn(I)>,
}

impl<I: Id, V> Table<I, V> {
    /// Return a table with `count` copies of a value.
    pub fn of(count: usize, value: V) -> Self
    where
        V: Clone,
    {
        Self::from(vec![value; count])
    }

    /// Add a value and return its number.
    #[inline]
    pub fn push(&mut self, value: V) -> I {
        self.values.push(value);
        I::new(self.values.len() as u32 - 1)
    }

    /// Return the value of a thing, if it exists.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut V> {
        self.values.get_mut(id.index())
    }

    /// Return all values, ordered by number.
    #[inline]
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Return all values for changes.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }
}

impl<I, V> From<Vec<V>> for Table<I, V> {
    fn from(values: Vec<V>) -> Self {
        Self {
            values,
            by: PhantomData,
        }
    }
}

impl<I, V> FromIterator<V> for Table<I, V> {
    fn from_iter<T: IntoIterator<Item = V>>(values: T) -> Self {
        Self::from(Vec::from_iter(values))
    }
}

impl<I: Id, V> Index<I> for Table<I, V> {
    type Output = V;

    #[inline]
    fn index(&self, id: I) -> &V {
        &self.values[id.index()]
    }
}

impl<I: Id, V> IndexMut<I> for Table<I, V> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut V {
        &mut self.values[id.index()]
    }
}
