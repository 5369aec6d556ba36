//! Tests of the stream manager, in one program. Each file in this folder is a module.

mod checksums;
mod dependences;
mod discarded;
mod driver;
mod faults;
mod formats;
mod headers;
mod hostile;
mod losses;
mod schedule;
mod soak;
mod tables;
mod world;
