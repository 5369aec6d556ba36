//! Tests of the protocol, and of the machines against naive references.

mod cache;
mod directories;
mod frames;
mod journal;
mod locks;
mod messages;
mod names;
mod own;
mod session;
mod simulation;
