//! Tests of the daemon over its interfaces: lines of JSON, links and rings. `mailbox` is private in the
//! library, so its unit tests run here.

#![cfg(target_os = "linux")]

mod attacks;
mod between;
mod files;
mod kills;
mod lasting;
mod limits;
#[path = "../src/mailbox.rs"]
#[allow(dead_code)]
mod mailbox;
mod operators;
mod replay;
mod rig;
mod streams;
mod tls;
