//! Tests of the engine, in one program. Each file and folder beside this one is a module.

mod dragonfly;
mod engine;
mod lengths;
mod qsnet;
mod readings;
