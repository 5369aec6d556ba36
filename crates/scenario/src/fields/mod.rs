//! Which fields a file has: tables as types, those that all files have, and those of each kind of machine.

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
