//! Documentation of the fields for readers and editors, and their values.

pub(crate) mod field_list;
mod json_schema;
pub(crate) mod resolved;
