//! Reading of files: the TOML tree, the layers of values of the fields, and errors.

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
