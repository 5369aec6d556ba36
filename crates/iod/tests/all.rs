//! Tests of the daemon over its sockets.

#![cfg(target_os = "linux")]

mod admission;
mod attacks;
mod diod;
mod files;
mod rig;
