//! Tests of the stream manager, in one program: each file beside this one is a part of it.

mod checksums;
mod dependences;
mod driver;
mod faults;
mod formats;
mod headers;
mod hostile;
mod losses;
mod schedule;
mod soak;
mod tables;
mod thrown;
mod world;
