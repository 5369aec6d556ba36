//! Documentation of the fields of scenario files: the list of fields, a JSON Schema, and the effective
//! values.

pub(crate) mod field_list;
mod json_schema;
pub(crate) mod resolved;
