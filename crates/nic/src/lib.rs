//! The daemon of the stream manager: several applications share one network interface (Steenkiste
//! 1996, sections 5.1 to 5.3), each in its own sessions, over the protocol of
//! `isthmus-nic-protocol`.
//!
//! | module | contents |
//! |---|---|
//! | `config`, `error` | settings and errors |
//! | `policy` | networks and directories that applications may reach |
//! | `daemon`, `service`, `shared` | start and stop; the service that `isthmus-daemon` serves |
//! | `session`, `mailbox` | one connection: lines in, answers and events out |
//! | `links`, `lasting` | links over sockets and rings, and links that outlast their sockets |
//! | `accept`, `files` | incoming peers, and files that connections write |
//! | `counters`, `metrics` | counters, and their text for Prometheus |
//! | `convert`, `requests` | requests, handled on the driver's thread |
//! | `state` | applications, links, connections and waiting requests |
//! | `events`, `report` | events and status of the driver, for sessions |
//!
//! The driver's thread never waits for a client. It puts its messages into a bounded `mailbox`, and
//! a session that reads too slowly receives the number of events that it missed.
//!
//! Linux only, as the drivers are: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod accept;
mod config;
mod convert;
mod counters;
mod daemon;
mod error;
mod events;
mod files;
mod lasting;
mod leftovers;
mod links;
mod mailbox;
mod metrics;
mod policy;
mod refusal;
mod report;
mod requests;
mod service;
mod session;
mod shared;
mod state;

pub use config::{Config, Limits};
pub use daemon::Daemon;
pub use error::{Error, Result};
pub use policy::Policy;

pub use isthmus_daemon::{Logs, Network, Secret, Tokens};
pub use isthmus_wire::{Address, Certificate};
