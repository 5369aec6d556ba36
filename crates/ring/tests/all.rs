//! The tests of this crate, one program.

#![cfg(target_os = "linux")]

mod claims;
mod descriptors;
mod ends;
mod hostile;
mod processes;
mod sequences;
