//! Tests of the drivers, in one program.

mod conformance;
mod frames;
mod garbage;
mod outsides;
mod rig;
