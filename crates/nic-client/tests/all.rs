//! Tests of the client, in one program.

mod again;
mod cuts;
mod fake;
mod hidden;
mod proxy;
mod receiving;
mod rig;
mod sending;
mod sessions;
mod sums;
