//! The scenario type that a field of a Rust type has by default.

use super::lists::{Links, NameSet, Nodes, Percentiles};
use super::numbers::{Share, Whole};
use super::quantities::{Data, Frequency, Span, Throughput};
use super::value_type::{AnyType, ValueType};
use super::words::{Flag, Name};
use crate::value::described::Description;
use isthmus_units::{Bandwidth, Bytes, Rate, Time};

/// A Rust type of field values, with the scenario type that a field of this Rust type has by default.
pub trait Held: Description {
    /// The scenario type of fields by default.
    const TYPE: &'static dyn AnyType;
}

/// Implement [`Held`] for Rust types, each with the scenario type of its fields.
macro_rules! held {
    ($($held:ty: $of:expr;)+) => { $(
        impl Held for $held {
            const TYPE: &'static dyn AnyType = &$of;
        }
    )+ };
}

held! {
    u32: Whole::<u32>::new(0, u32::MAX as u64);
    u64: Whole::<u64>::COUNT;
    f64: Share::ANY;
    bool: Flag;
    String: Name;
    Time: Span::or_zero("ms");
    Bytes: Data::ANY;
    Bandwidth: Throughput::LINK;
    Rate: Frequency;
    Vec<u32>: Nodes;
    Vec<(u32, u32)>: Links { directed: false };
    Vec<f64>: Percentiles;
    Vec<String>: NameSet;
}

/// Return `of` as the type of a field, after a check that the Rust type of its values is `T`.
pub const fn typed<T, V: ValueType<Held = T>>(of: &'static V) -> &'static dyn AnyType {
    of
}
