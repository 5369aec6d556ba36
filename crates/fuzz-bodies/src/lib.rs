//! The fuzz targets of `fuzz/`: each is a function of bytes that panics on an error. The fuzzers
//! themselves need a nightly compiler; the tests of this crate run the stored inputs with any
//! compiler.
//!
//! | target | subject, which gets arbitrary input | assertions, besides that it does not panic |
//! |---|---|---|
//! | [`frames`] | headers of links | encoding the decoded header gives the same bytes |
//! | [`headers`] | headers of packets | the same |
//! | [`link`] | links of a driver, with frames in the expected order and in other orders | packets are complete, in order, with the rank's bytes |
//! | [`lasting`] | links that outlast their sockets, with cut sockets and ranks that reconnect with wrong serial numbers | all sent data arrives, once, in order |
//! | [`peer`] | a connection of a driver over a stream socket | ranks receive the sent data, or packets marked as void in place of lost ones; memory is bounded |
//! | [`datagrams`] | the same, over datagrams | the same |
//! | [`control`] | lines of the control interface | the lines are the same however the bytes are split into reads; a line that is parsed, written and parsed again is the same |
//! | [`forward`] | requests of 9P, to a session with files in memory | each request has one reply, with its tag, as large as agreed on at most; numbers of fids and requests are bounded |
//! | [`cache_log`] | the log of a cache, with right and wrong checksums | the records before the first damaged one, read alone, give the same files; ranges are in order |
//! | [`manager`] | all calls of a manager, and its peer | memory stays within the limits; nothing remains of ended objects |
//! | [`submit`] | connections and streams of a driver | memory is bounded |
//! | [`destination`] | the text of a destination | – |
//! | [`ring`] | the words in the memory of a ring | a call moves no more bytes than requested |

#![cfg(target_os = "linux")]

mod cache_log;
mod control;
mod draw;
mod formats;
mod forward;
mod lasting;
mod link;
mod manager;
mod memory;
mod near;
mod peer;
mod ring;
mod submit;

pub use cache_log::cache_log;
pub use control::control;
pub use formats::{destination, frames, headers};
pub use forward::forward;
pub use lasting::lasting;
pub use link::link;
pub use manager::manager;
pub use memory::{Memory, TOKEN};
pub use peer::{datagrams, peer};
pub use ring::ring;
pub use submit::submit;

/// A fuzz target: its name, which is also that of its folder in `fuzz/corpus`, and its body.
pub type Target = (&'static str, fn(&[u8]));

/// All fuzz targets.
pub const TARGETS: &[Target] = &[
    ("frames", frames),
    ("headers", headers),
    ("lasting", lasting),
    ("link", link),
    ("peer", peer),
    ("datagrams", datagrams),
    ("control", control),
    ("forward", forward),
    ("cache_log", cache_log),
    ("manager", manager),
    ("destination", destination),
    ("ring", ring),
    ("submit", submit),
];
