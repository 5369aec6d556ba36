//! Type-erased values: descriptions of machines and workloads of any kind, and values of fields of any type.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// A plain value that can be type-erased: the description of a machine or a workload, or the value of a
/// field.
pub trait Description: Any + fmt::Debug + Send + Sync {
    /// Return whether `other` has the same type as this value and is equal to it.
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + fmt::Debug + PartialEq + Send + Sync> Description for T {
    /// Downcast `other` to the type of this value, and compare.
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

/// A type-erased value, such as the description of a machine of any kind.
#[derive(Clone)]
pub struct Described(Arc<dyn Description>);

impl Described {
    /// Erase the type of `value`.
    pub fn new<T: Description>(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Downcast the value to type `T`; return `None` if it has another type.
    pub fn as_<T: Description>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Downcast the value to type `T`.
    ///
    /// # Panics
    /// If it has another type.
    pub fn expect<T: Description>(&self) -> &T {
        let value = self.as_();
        value.unwrap_or_else(|| panic!("{self:?} is no {}", type_name::<T>()))
    }
}

impl PartialEq for Described {
    /// Return whether both values have the same type and are equal.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals(&*other.0)
    }
}

impl fmt::Debug for Described {
    /// Write the value in the debug format of its own type.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that type-erased values are compared and printed like plain values, and are equal only
    /// if their types are equal.
    #[test]
    fn erased_values_are_compared_and_printed_like_values_of_their_type() {
        let one = Described::new(1u32);
        assert_eq!(one, one.clone());
        assert_eq!(one, Described::new(1u32));
        assert_ne!(one, Described::new(2u32));
        assert_ne!(one, Described::new(1u64));
        assert_eq!(format!("{one:?}"), "1");
        assert_eq!((one.as_::<u32>(), one.as_::<u64>()), (Some(&1), None));
    }

    /// Checks that a downcast of a `u32` value to `u64` panics.
    #[test]
    #[should_panic(expected = "1 is no u64")]
    fn a_value_of_another_type_panics() {
        Described::new(1u32).expect::<u64>();
    }
}
