//! Descriptions of the fields of scenario files: tables as Rust types, tables that all files share, and
//! tables of each kind of machine.

pub(crate) mod common;
pub(crate) mod control;
pub(crate) mod field;
mod flaws;
pub(crate) mod format;
pub(crate) mod named;
pub(crate) mod registry;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod tables;
