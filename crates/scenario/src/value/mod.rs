//! Types of field values, with their parsers and descriptions.
//!
//! Each type is a struct that implements [`ValueType`]. Kinds of machine add their own types.

mod amount;
pub(crate) mod described;
mod held;
pub mod json;
mod lists;
mod numbers;
mod quantities;
mod value_type;
mod words;

pub use amount::Amount;
pub(crate) use amount::Dimension;
pub use held::{Held, typed};
pub use lists::{
    Links, Measures, NameSet, Nodes, Percentiles, SET_WORDS, dimensions, node_number, twice,
};
pub use numbers::{Number, Share, Whole};
pub use quantities::{Data, Frequency, Span, TIME_MAX, Throughput, quantity};
pub use value_type::{AnyType, TypeInfo, Value, ValueType};
pub use words::{Choice, Flag, LINE_MAX, Name, Text, alternatives, control_in};
