//! What files describe, as values of whatever type their kind of machine has for it.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

/// Plain values that describe a machine or its work.
pub trait Description: Any + fmt::Debug + PartialEq + Send + Sync {}

impl<T: Any + fmt::Debug + PartialEq + Send + Sync> Description for T {}

/// A machine or its work, of the type of its kind.
#[derive(Clone)]
pub struct Described {
    value: Arc<dyn Any + Send + Sync>,
    equal: fn(&Self, &Self) -> bool,
    debug: fn(&Self, &mut fmt::Formatter<'_>) -> fmt::Result,
}

impl Described {
    /// `value` without its type.
    pub fn new<T: Description>(value: T) -> Self {
        Self {
            value: Arc::new(value),
            equal: |own, other| own.as_::<T>() == other.as_::<T>(),
            debug: |own, f| own.expect::<T>().fmt(f),
        }
    }

    /// The value, if it is of this type.
    pub fn as_<T: Description>(&self) -> Option<&T> {
        self.value.downcast_ref()
    }

    /// The value, which is of this type: that of the kind of machine at hand.
    ///
    /// # Panics
    /// If it is of another type.
    pub fn expect<T: Description>(&self) -> &T {
        let value = self.as_();
        value.unwrap_or_else(|| panic!("{self:?} is no {}", type_name::<T>()))
    }
}

impl PartialEq for Described {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.value, &other.value) || (self.equal)(self, other)
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.debug)(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_and_told_as_what_they_are() {
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
    fn a_value_of_another_type_is_told() {
        Described::new(1u32).expect::<u64>();
    }
}
