//! Tests of the drivers, in one program.

mod conformance;
mod frames;
mod outsides;
mod rig;
