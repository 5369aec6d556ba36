//! What a kind of machine is made of: its tables as types, and what else it says of its files.

pub use crate::control::messages_most;
pub use crate::describe::{Choice, Describe, Rows, at, kind_of, no_word, read_if_any};
pub use crate::described::Description;
pub use crate::document::shown;
pub use crate::error::{Origin, Problem};
pub use crate::faults::{Asked, Failures, Faults, Part, SINGLE, State, Which};
pub use crate::field::{Default, Field, Own};
pub use crate::form::{LoadValue, Loads, NoLoad, Tables};
pub use crate::held::Held;
pub use crate::kind::{Format, Row};
pub use crate::named::Named;
pub use crate::preset::{Preset, PresetValue, Presets};
pub use crate::quantity::rounded;
pub use crate::setting::Layer;
pub use crate::settings::Settings;
pub use crate::suggest::closest;
pub use crate::vain::{Reason, Watch};
pub use crate::value::{
    Addressed, Kind, LANES_MAX, NODES_MAX, OUTSTANDING_MAX, TIME_MAX, Value, mean_gap,
};
pub use strum::VariantNames;
