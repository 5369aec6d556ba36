//! Typed numbers (ids) of entities such as lanes, and tables that are indexed by them.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// The number of an entity of one kind, such as a lane. Ids of different kinds are different types
/// and cannot be confused. The macro [`id!`](crate::id!) defines such types.
pub trait Id: Copy {
    /// The id that means "no entity".
    const NONE: Self;

    /// Return the id with this number.
    fn new(number: u32) -> Self;

    /// Return the number that this id contains.
    fn number(self) -> u32;

    /// Return the number of this id, for use as an index of an array.
    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }
}

/// Define id types. The compiler then refuses the id of a lane where the id of a worm is expected:
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

            /// Return the id with this number.
            #[inline]
            fn new(number: u32) -> Self {
                Self(number)
            }

            /// Return the number from which the id was made.
            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

/// A table with one value for each entity of a kind, indexed by the id of the entity, from 0.
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
    /// Return a table of `count` values, each a copy of `value`.
    pub fn of(count: usize, value: V) -> Self
    where
        V: Clone,
    {
        Self::from(vec![value; count])
    }

    /// Append a value for a new entity to the table and return the id of the entity.
    #[inline]
    pub fn push(&mut self, value: V) -> I {
        self.values.push(value);
        I::new(self.values.len() as u32 - 1)
    }

    /// Return the value of an entity for changes, or `None` if the table has no such entity.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut V> {
        self.values.get_mut(id.index())
    }

    /// Return all values, ordered by the ids of their entities.
    #[inline]
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Return all values of the table, which the caller may change, in the order of their ids.
    #[inline]
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }
}

impl<I, V> From<Vec<V>> for Table<I, V> {
    /// Convert values into a table in which the value at position n belongs to id n.
    fn from(values: Vec<V>) -> Self {
        Self {
            values,
            by: PhantomData,
        }
    }
}

impl<I, V> FromIterator<V> for Table<I, V> {
    /// Collect values into a table in which the value at position n belongs to id n.
    fn from_iter<T: IntoIterator<Item = V>>(values: T) -> Self {
        Self::from(Vec::from_iter(values))
    }
}

impl<I: Id, V> Index<I> for Table<I, V> {
    /// Type of the entries.
    type Output = V;

    /// Return the value of the entity `id`.
    #[inline]
    fn index(&self, id: I) -> &V {
        &self.values[id.index()]
    }
}

impl<I: Id, V> IndexMut<I> for Table<I, V> {
    /// Return the value of the entity `id`, which the caller may change.
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut V {
        &mut self.values[id.index()]
    }
}
