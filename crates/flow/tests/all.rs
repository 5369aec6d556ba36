//! Tests of the engine, in one program. Each file in this folder is a module.

mod closed_forms;
mod conformance;
mod equal;
mod fairness;
mod offers;
mod reference;
