//! Parser of scenario files: the TOML tree, the values of the fields from file, presets and overrides, and
//! errors.

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
