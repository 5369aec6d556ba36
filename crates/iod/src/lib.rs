//! The I/O daemon: it serves directories of a store to the processes of a job. An I/O unit of JUMP-1
//! does this for a cluster (Osana et al., *Performance Evaluation of a Parallel I/O Mechanism on a
//! Massively Parallel Processing System JUMP-1*, section 3). Its protocol is 9P2000.L, for Linux kernels,
//! the tools of diod, and its own clients.
//!
//! The daemon serves one user: the one that runs it. The crate `isthmus-daemon` accepts and admits
//! clients; `isthmus-forward` has the protocol.
//!
//! | module | contents |
//! |---|---|
//! | `config` | settings, and whether they fit together |
//! | `daemon` | start, reload and stop |
//! | `service`, `shared` | the service that `isthmus-daemon` runs, with its metrics; the state that all sessions share |
//! | `sessions` | the sessions of all clients: how they are ended and taken up again; their locks |
//! | `session` | one connection: messages in, replies out |
//! | `export` | an exported directory: names, and files beneath it |
//! | `objects` | an export whose store is a bucket of S3 |
//! | `client` | one client: whether it is admitted, and what is logged of it |
//! | `cache` | data of files in a folder, between the clients and the store |
//! | `open` | an open file of a client, with its cached data |
//! | `files` | the operations of a client on exported files |
//! | `status` | attributes and flags of Linux, as the protocol has them |
//!
//! Linux only: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod ahead;
mod cache;
mod client;
mod config;
mod daemon;
mod directories;
mod export;
mod fetch;
mod files;
mod objects;
mod open;
mod service;
mod session;
mod sessions;
mod shared;
mod status;

pub use cache::{CacheStatus, cached_exports};
pub use config::{CacheConfig, Config, Level};
pub use daemon::Daemon;
pub use isthmus_daemon::{Logs, Secret, Tokens};
pub use isthmus_forward::Limits;
pub use isthmus_forward::cache::Settings;
pub use isthmus_wire::{Address, Certificate, Error, Result};
