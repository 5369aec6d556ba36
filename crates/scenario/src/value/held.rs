//! The default type of a field in the scenario file (its parser and description), for each Rust type of its
//! value.

use super::lists::{Links, NameSet, Nodes, Percentiles};
use super::numbers::{Share, Whole};
use super::quantities::{Data, Frequency, Span, Throughput};
use super::value_type::{AnyType, ValueType};
use super::words::{Flag, Name};
use crate::value::described::Description;
use isthmus_units::{Bandwidth, Bytes, Rate, Time};

/// A Rust type of field values, with the default type (parser and description) of such fields in the scenario
/// file.
pub trait Held: Description {
    /// The default type (parser and description) of scenario fields with values of this Rust type.
    const TYPE: &'static dyn AnyType;
}

/// Implement [`Held`] for Rust types, each with the default type of its fields in the scenario file.
macro_rules! held {
    ($($held:ty: $of:expr;)+) => { $(
        impl Held for $held {
            /// The default type (parser and description) of scenario fields with such values.
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

/// Return the type `of` of a field with its Rust type erased. The compiler checks that its values have the
/// Rust type `T`.
pub const fn typed<T, V: ValueType<Held = T>>(of: &'static V) -> &'static dyn AnyType {
    of
}
