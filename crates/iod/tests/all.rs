//! Tests of the daemon over its sockets.

#![cfg(target_os = "linux")]

mod admission;
mod attacks;
mod cache;
mod daemons;
mod diod;
mod files;
mod mount;
mod own;
mod remote;
mod rig;
