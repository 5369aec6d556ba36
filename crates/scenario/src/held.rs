//! Values that fields of the file hold, by their types.

use crate::value::{Addressed, Kind, Value};
use isthmus_units::{Bandwidth, Bytes, Rate, Time};
use isthmus_workload::Outstanding;
use isthmus_workload::jobs::spec::{JobNodes, Listed};

/// A value that one field may hold.
pub trait Held: Sized {
    /// The kind of the field, unless it says otherwise.
    const KIND: Kind;
    /// The value; `None` if it is of another kind.
    fn of(value: &Value) -> Option<Self>;
}

/// Types whose value is that of a variant of [`Value`].
macro_rules! held {
    ($($type:ty: $kind:expr, $($variant:ident)|+;)+) => { $(
        impl Held for $type {
            const KIND: Kind = $kind;

            fn of(value: &Value) -> Option<Self> {
                match value {
                    $(Value::$variant(value) => Some(value.clone()),)+
                    _ => None,
                }
            }
        }
    )+ };
}

held! {
    u64: Kind::COUNT, Integer;
    f64: Kind::SHARE, Number;
    bool: Kind::Flag, Flag;
    String: Kind::Name, Text;
    Time: Kind::span("ms"), Time;
    Bytes: Kind::DATA, Bytes;
    Bandwidth: Kind::Bandwidth, Bandwidth;
    Rate: Kind::Rate, Rate;
    JobNodes: Kind::JobNodes, JobNodes;
    Vec<Listed>: Kind::Messages, Messages;
    Vec<u32>: Kind::Nodes, Nodes | Sizes | Counts;
    Vec<(u32, u32)>: Kind::Links { directed: false }, Links;
    Vec<Vec<u32>>: Kind::Rings(Addressed::ALL), Rings;
    Vec<f64>: Kind::Percentiles, Numbers;
    Vec<String>: Kind::NameSet, Names;
}

impl Held for u32 {
    const KIND: Kind = Kind::whole(0, u32::MAX as u64);

    /// A whole number of a field whose range ends below 2^32.
    fn of(value: &Value) -> Option<Self> {
        u64::of(value).map(|whole| u32::try_from(whole).unwrap_or(u32::MAX))
    }
}

/// For fields that hold one thing or another.
impl Held for Value {
    const KIND: Kind = Kind::Load;

    fn of(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
}

impl Held for Outstanding {
    const KIND: Kind = Kind::Outstanding;

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Text(_) => Some(Self::Unlimited),
            _ => u32::of(value).map(Self::AtMost),
        }
    }
}
