//! Tests of the daemon over its interfaces: lines of JSON, links and rings.

#![cfg(target_os = "linux")]

mod attacks;
mod between;
mod files;
mod kills;
mod lasting;
mod limits;
mod operators;
mod replay;
mod rig;
mod streams;
mod tls;
