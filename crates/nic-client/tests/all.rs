//! Tests of the client, in one program.

mod fake;
mod sessions;
