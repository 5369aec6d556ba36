//! The part that all daemons share: it accepts connections, admits clients, logs requests, serves
//! metrics, reloads and stops. Each daemon implements [`Service`], which handles the requests and
//! has the state.
//!
//! | module | contents |
//! |---|---|
//! | `config`, `network` | the settings of a server; networks of addresses |
//! | `server` | [`Listeners`] bind addresses, a [`Server`] accepts connections until it stops |
//! | `gate`, `unauthenticated`, `token` | who is admitted: sessions, connections without a name yet, secrets |
//! | `roots` | directories below which clients may name files |
//! | `log` | the audit log: a line per request, with bounds |
//! | `http` | metrics and health over HTTP |
//!
//! Each connection has a thread: decision 87 gives the cost of idle ones.
//!
//! Linux only: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod config;
mod gate;
mod http;
mod log;
mod network;
mod roots;
mod server;
mod token;
mod unauthenticated;

pub use config::Config;
pub use gate::{Gate, SessionSlot};
pub use http::Text;
pub use log::{Log, Logs, Refusals};
pub use network::Network;
pub use roots::{Roots, open_beneath, open_directory, open_path};
pub use server::{Listeners, Server, Service};
pub use token::{Secret, Tokens, is_same};
pub use unauthenticated::Slot;
