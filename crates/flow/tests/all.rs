//! Tests of the engine, in one program: each file beside this one is a part of it.

mod closed_forms;
mod conformance;
mod equal;
mod fairness;
mod offers;
mod reference;
