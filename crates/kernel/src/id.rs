//! Numbers of one kind of thing, and tables by them.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The number of one kind of thing, which is no number of another. Made by [`id!`](crate::id!).
pub trait Id: Copy {
    /// No thing.
    const NONE: Self;

    /// The thing of this number.
    fn new(number: u32) -> Self;

    /// Its number.
    fn number(self) -> u32;

    /// Its number, as a place in memory.
    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }
}

/// Makes types of numbers. What is taken for a lane is then no worm:
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

/// A value for each thing of a kind, by its number from 0.
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
    /// The same value for each of so many.
    pub fn of(count: usize, value: V) -> Self
    where
        V: Clone,
    {
        Self::from(vec![value; count])
    }

    /// Adds one thing. Its number is the answer.
    #[inline]
    pub fn push(&mut self, value: V) -> I {
        self.values.push(value);
        I::new(self.values.len() as u32 - 1)
    }

    /// The value of a thing, if there is one.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut V> {
        self.values.get_mut(id.index())
    }

    /// All values, by number.
    #[inline]
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// The same, to be changed.
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
