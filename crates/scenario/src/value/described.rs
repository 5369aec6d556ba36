//! Descriptions of machines and workloads, and field values, with their types erased.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// A plain value that describes a machine or a workload, or that a field holds.
pub trait Description: Any + fmt::Debug + Send + Sync {
    /// Return whether `other` has the same type as this value and is equal to it.
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + fmt::Debug + PartialEq + Send + Sync> Description for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

/// A value of any type, such as a machine of any kind.
#[derive(Clone)]
pub struct Described(Arc<dyn Description>);

impl Described {
    /// Erase the type of `value`.
    pub fn new<T: Description>(value: T) -> Self {
        Self(Arc::new(value))
    }

    /// Return the value if it has type `T`.
    pub fn as_<T: Description>(&self) -> Option<&T> {
        (&*self.0 as &dyn Any).downcast_ref()
    }

    /// Return the value, which must have type `T`.
    ///
    /// # Panics
    /// If it has another type.
    pub fn expect<T: Description>(&self) -> &T {
        let value = self.as_();
        value.unwrap_or_else(|| panic!("{self:?} is no {}", type_name::<T>()))
    }
}

impl PartialEq for Described {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.equals(&*other.0)
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_and_printed_by_their_type() {
        let one = Described::new(1u32);
        assert_eq!(one, one.clone());
        assert_eq!(one, Described::new(1u32));
        assert_ne!(one, Described::new(2u32));
        assert_ne!(one, Described::new(1u64));
        assert_eq!(format!("{one:?}"), "1");
        assert_eq!((one.as_::<u32>(), one.as_::<u64>()), (Some(&1), None));
    }

    #[test]
    #[should_panic(expected = "1 is no u64")]
    fn a_value_of_another_type_panics() {
        Described::new(1u32).expect::<u64>();
    }
}
