//! Tests of the drivers, in one program.

mod confirming;
mod conformance;
mod datagrams;
mod frames;
mod full_disk;
mod garbage;
mod in_rings;
mod lasting;
mod leaving;
mod outsides;
mod plain;
mod plainly;
mod rig;
mod ring_kills;
mod service;
mod simulated;
mod taken_back;
mod unconfirmed;
