//! The daemon of the stream manager: several applications share one interface (Steenkiste 1996,
//! sections 5.1 to 5.3), each in sessions of its own, in the words of `isthmus-nic-protocol`.
//!
//! | module | what it does |
//! |---|---|
//! | `config`, `error` | settings and errors |
//! | `policy` | what applications may reach |
//! | `daemon`, `service`, `shared` | starts and stops; the service that `isthmus-daemon` serves |
//! | `session`, `mailbox` | one connection: lines in, answers and events out |
//! | `links`, `accept`, `files` | sockets that become links, rings, peers that come in, files |
//! | `tally`, `metrics` | counts for Prometheus |
//! | `words`, `acts` | what is asked, done on the driver's thread |
//! | `hub` | who is there |
//! | `hear`, `told` | what the driver tells, in words, and to whom |
//!
//! The driver's thread never waits for a client: what it tells goes to a `mailbox` with
//! bounds, and a session that reads too slowly is told how many events it missed.
//!
//! Linux only, as the drivers are: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod accept;
mod acts;
mod config;
mod daemon;
mod error;
mod files;
mod hear;
mod hub;
mod lasting;
mod leftovers;
mod links;
mod mailbox;
mod metrics;
mod policy;
mod refusal;
mod service;
mod session;
mod shared;
mod tally;
mod told;
mod words;

pub use config::{Config, Limits};
pub use daemon::Daemon;
pub use error::{Error, Result};
pub use policy::Policy;

pub use isthmus_daemon::{Logs, Network, Secret, Tokens};
pub use isthmus_wire::{Address, Certificate};
