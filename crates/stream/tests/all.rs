//! Tests of the stream manager, in one program: each file beside this one is a part of it.

mod checksums;
mod dependences;
mod driver;
mod formats;
mod headers;
mod schedule;
mod soak;
mod tables;
mod world;
