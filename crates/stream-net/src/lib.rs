//! Drivers that run the stream manager of `isthmus-stream` for real: one thread, one manager, links
//! from ranks, connections to the outside (Steenkiste 1996, sections 4 and 5).
//!
//! | module | what it does |
//! |---|---|
//! | `driver`, `known`, `orders`, `heard`, `turn` | carries out orders, reports, sleeps when there is nothing to do |
//! | `service` | the same on a thread of its own |
//! | `memory`, [`sum`] | staging and network memory, checksums put together from pieces |
//! | `claims` | data that stays in the rings of links until it is sent |
//! | [`frame`], `link`, [`rank`] | links: what goes over them, this end, the ranks' end |
//! | `lasting`, [`unconfirmed`] | links that are made anew when their socket is cut |
//! | [`destination`], `outside` | connections: packets, plain bytes, files |
//! | `screen` | what a frame buffer is to a driver |
//! | [`sink`], `peer`, `station` | who takes packets outside, checks them and confirms; for tests and measurements |
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
mod giving;
mod heard;
mod known;
mod lacking;
mod lasting;
mod link;
mod memory;
mod orders;
mod outside;
mod peer;
pub mod rank;
mod screen;
mod service;
pub mod sink;
mod sleep;
mod station;
pub mod sum;
mod taking_back;
mod turn;
pub mod unconfirmed;

pub use destination::Destination;
pub use driver::{Driver, Waker};
pub use error::{Error, Result};
pub use event::{Event, Figures};
pub use lacking::lacking;
pub use link::Ends;
pub use outside::{Journal, NAME_MOST, is_part, replaceable};
pub use screen::{Screen, Screens};
pub use service::{Client, Service};
pub use station::{Station, Taking};

pub use isthmus_wire::Socket;
