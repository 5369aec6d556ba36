//! Screens on which streams draw, and a web page that shows them (Steenkiste 1996, section 7.3:
//! images to a frame buffer).
//!
//! | module | contents |
//! |---|---|
//! | `geometry` | geometry of a screen: the size of an ADU (application data unit), interlacing |
//! | `screens` | screens by name, their newest frames, and the state of viewers |
//! | `painter` | assembly of frames from the bytes of ADUs |
//! | `message` | messages to viewers: the list of screens, frames |
//! | `http`, `page`, `viewer` | the page, and a WebSocket per viewer |
//!
//! A screen keeps only its newest frame. A viewer receives the newest frame once it has confirmed
//! the earlier ones. A slow viewer misses frames, which are counted, and delays no others.
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
