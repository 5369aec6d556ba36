//! Tests of the client, in one program.

mod fake;
mod hidden;
mod receiving;
mod rig;
mod sending;
mod sessions;
mod sums;
