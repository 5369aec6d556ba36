//! The engine beside its naive reference.

mod conformance;
mod drive;
mod networks;
mod reference;
mod trees;
