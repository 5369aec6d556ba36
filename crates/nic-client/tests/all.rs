//! Tests of the client, in one program.

mod fake;
mod rig;
mod sending;
mod sessions;
