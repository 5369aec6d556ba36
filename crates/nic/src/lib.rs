//! The daemon of the stream manager: several applications share one interface (Steenkiste 1996,
//! sections 5.1 to 5.3), each in sessions of its own, in the words of `isthmus-nic-protocol`.
//!
//! | module | what it does |
//! |---|---|
//! | `config`, `address`, `error` | what the operator says |
//! | `policy` | what applications may reach |
//! | `daemon` | listens, lets sessions in, ends |
//! | `session`, `wire`, `tls`, `mailbox` | one socket: lines in, answers and events out |
//! | `links`, `pump`, `accept`, `files` | sockets that become links, rings, peers that come in, files |
//! | `log`, `tally`, `metrics`, `secret` | who did what, counts for Prometheus, tokens |
//! | `words`, `acts` | what is asked, done on the driver's thread |
//! | `strangers` | sockets of those who have not said who they are |
//! | `shared`, `hub` | who is let in, and who is there |
//! | `hear`, `told` | what the driver tells, in words, and to whom |
//!
//! The driver's thread never waits for a client: what it tells goes to a `mailbox` with
//! bounds, and a session that reads too slowly is told how many events it missed.
//!
//! Linux only, as the drivers are: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod accept;
mod acts;
mod address;
mod config;
mod daemon;
mod error;
mod files;
mod hear;
mod hub;
mod lasting;
mod leftovers;
mod links;
mod log;
mod mailbox;
mod metrics;
mod policy;
mod pump;
mod refusal;
mod roots;
mod secret;
mod session;
mod shared;
mod strangers;
mod tally;
mod tls;
mod told;
mod wire;
mod words;

pub use address::Address;
pub use config::{Config, Limits};
pub use daemon::Daemon;
pub use error::{Error, Result};
pub use log::Logs;
pub use policy::{Network, Policy};
pub use secret::{Secret, Tokens};
pub use tls::Certificate;
