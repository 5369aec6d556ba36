//! The fields and their values for readers and editors.

pub(crate) mod field_list;
mod json_schema;
pub(crate) mod resolved;
