//! Drivers that run the stream manager of `isthmus-stream` with real data: one thread, one manager,
//! links from ranks, connections to other machines (Steenkiste 1996, sections 4 and 5).
//!
//! | module | contents |
//! |---|---|
//! | `driver`, `stream_state`, `orders`, `link_events`, `turn` | carry out orders, report events, sleep |
//! | `service` | a driver on its own thread |
//! | `memory`, [`sum`] | staging and network memory, checksums combined from pieces |
//! | `claims` | data that stays in the rings of links until it is sent |
//! | [`frame`], `link`, [`rank`] | links: their frames, the driver's end, the ranks' end |
//! | `resumable`, [`unconfirmed`] | links that reconnect when their socket is cut |
//! | [`destination`], `transport` | connections: packets, plain bytes, files |
//! | `screen` | the interface to a frame buffer |
//! | [`sink`], `peer`, `sink_server` | receivers that check packets and confirm them, for tests and measurements |
//!
//! Linux only, as the rings of `isthmus-ring` are: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod busy;
mod claims;
pub mod destination;
mod driver;
mod ends;
mod error;
mod event;
pub mod frame;
mod link;
mod link_events;
mod memory;
mod memory_shortfall;
mod orders;
mod peer;
mod provided_sockets;
pub mod rank;
mod reclaim;
mod resumable;
mod screen;
mod service;
pub mod sink;
mod sink_server;
mod sleep;
mod stream_state;
pub mod sum;
mod transport;
mod turn;
pub mod unconfirmed;

pub use destination::Destination;
pub use driver::{Driver, Waker};
pub use error::{Error, Result};
pub use event::{Event, Figures};
pub use link::Ends;
pub use memory_shortfall::memory_shortfall;
pub use screen::{Screen, Screens};
pub use service::{Client, Service};
pub use sink_server::{SinkServer, SinkSession};
pub use transport::{Journal, NAME_MAX, is_part, replaceable};

pub use isthmus_wire::Socket;
