//! Screens that streams draw on, and one page in a browser that shows them (Steenkiste 1996,
//! section 7.3: images to a frame buffer).
//!
//! | module | what it does |
//! |---|---|
//! | `geometry` | the form of a screen: what an ADU is, how fields are woven |
//! | `screens` | screens by name, their newest frames, what viewers were sent |
//! | `painter` | bytes of ADUs that become a frame |
//! | `message` | what goes to a viewer: the list of screens, frames |
//! | `http`, `page`, `viewer` | the page, and a WebSocket for each that looks at it |
//!
//! A screen keeps its newest frame and no other. A viewer is sent what is newest when it has taken
//! what it was sent before: one that is slow misses frames, which are counted, and holds up nobody.
//!
//! Linux only, as the drivers of streams are: this crate is empty elsewhere.

#![cfg(target_os = "linux")]

mod error;
mod geometry;
mod http;
mod message;
mod page;
mod painter;
mod screens;
mod viewer;

pub use error::Error;
pub use geometry::{Geometry, Pixel};
pub use message::HEAD_BYTES;
pub use page::Page;
pub use painter::Painter;
pub use screens::{Figures, Screens};
