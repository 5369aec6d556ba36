//! The daemon, driven as clients do: by lines of JSON, links and rings.

#![cfg(target_os = "linux")]

mod rig;
mod streams;
