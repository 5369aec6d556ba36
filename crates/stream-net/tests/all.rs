//! Tests of the drivers, in one program.

mod conformance;
mod datagrams;
mod frames;
mod garbage;
mod outsides;
mod rig;
