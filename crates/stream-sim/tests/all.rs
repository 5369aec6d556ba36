//! Tests of the simulated interface, in one program: each file beside this one is a part of it.

mod anomaly;
mod closed_forms;
mod common;
mod layouts;
mod limits;
mod naive;
mod random;
