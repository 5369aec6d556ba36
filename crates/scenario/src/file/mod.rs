//! What a file says: its TOML as a tree, the values of its fields layer by layer, and the errors.

pub(crate) mod assignment;
pub(crate) mod canonical;
pub(crate) mod changes;
pub(crate) mod draft;
pub(crate) mod error;
pub(crate) mod presets;
pub(crate) mod setting;
pub(crate) mod settings;
pub(crate) mod suggest;
pub(crate) mod toml_json;
pub(crate) mod tree;
