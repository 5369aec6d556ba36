//! What the fuzzers of `fuzz/` run: a function of bytes for each target, which panics if something
//! is wrong. The fuzzers themselves need a nightly compiler; the inputs that they kept are run
//! again by the tests of this crate, on any.
//!
//! | target | what is given anything at all | what is asserted beyond that nothing panics |
//! |---|---|---|
//! | [`frames`] | headers of links | what is decoded is what would be encoded |
//! | [`headers`] | headers of packets | the same |
//! | [`link`] | links of a driver, with frames in and out of step | packets are whole, in order, with the rank's bytes |
//! | [`lasting`] | links that outlast their sockets, with sockets that are cut and ranks that lie | all that was sent comes, once, in order |
//! | [`peer`] | a connection of a driver, as a stream | ranks get what was sent, or void; memory is bounded |
//! | [`datagrams`] | the same, as datagrams | the same |
//! | [`control`] | lines of the control interface | the same lines, however they are cut; what is read is what would be written |
//! | [`manager`] | all calls of a manager, and a peer of it | memories and limits are bounded, all that ended is gone |
//! | [`submit`] | connections and streams of a driver | its bounds |
//! | [`destination`] | words of a destination | – |
//! | [`ring`] | the words in the memory of a ring | no more moves than was asked for |

#![cfg(target_os = "linux")]

mod control;
mod draw;
mod formats;
mod lasting;
mod link;
mod manager;
mod near;
mod peer;
mod ring;
mod submit;

pub use control::control;
pub use formats::{destination, frames, headers};
pub use lasting::lasting;
pub use link::link;
pub use manager::manager;
pub use peer::{datagrams, peer};
pub use ring::ring;
pub use submit::submit;

/// A target: its name, which is that of its folder in `fuzz/corpus`, and what it runs.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("frames", frames),
    ("headers", headers),
    ("lasting", lasting),
    ("link", link),
    ("peer", peer),
    ("datagrams", datagrams),
    ("control", control),
    ("manager", manager),
    ("destination", destination),
    ("ring", ring),
    ("submit", submit),
];
