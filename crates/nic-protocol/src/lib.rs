//! The control interface of the stream manager in words (Steenkiste 1996, sections 5.1 to 5.3): what
//! applications and operators ask, and what they are told. A line of JSON each, of at most
//! [`LINE_BYTES`].
//!
//! A *session* is one socket to the daemon, Unix or TCP, over TLS or not. Its first line is a
//! [`Request::Hello`], a [`Request::Join`] or a [`Request::Link`]:
//!
//! - `hello` makes an *application*, which lives as long as this session, and has a *ticket*;
//! - `join` is another process or rank of that application: it shows the ticket;
//! - `link` makes of the socket itself a link of that application. After the answer no further line
//!   comes: either frames of links, or one message with the descriptors of two rings, and then the
//!   socket is only how either side sees that the other is there.
//!
//! A link over a socket may *last* ([`Lasting`]): when the socket is cut, its rank asks for the link
//! again with the same key within a time of grace, both sides say how many bytes they have
//! received, and go on from there. What was received is confirmed over the session of the rank's
//! process ([`Request::Taken`], [`Told::Link`]), where nothing that waits on the link stands in the
//! way; each side keeps what is not confirmed. With the session its links last no more.
//!
//! Each request but [`Request::Taken`] has a number of the client's choice, and is answered once by
//! it, in any order. What
//! happens to streams and connections of an application comes beside answers as [`Told::Event`], to
//! sessions that asked for it by `watch`; nothing is told of a stream or a connection before the
//! answer that gives its number.
//!
//! Numbers of streams and connections are the daemon's; links are the application's own, from 0. All
//! sizes are in bytes, all times in nanoseconds, as the names of the fields say.

mod answer;
mod line;
mod request;
mod terms;

pub use answer::{
    Answer, Connection, Counts, Event, Link, LinkNews, Overview, Refusal, RefusalKind, Stream, Told,
};
pub use line::{Garbled, LINE_BYTES, Lines, number, read, write};
pub use request::{
    Asked, Carrier, Checksum, Direction, Format, Geometry, Lasting, Other, Pixel, Protocol,
    Request, Spec,
};

/// The version of this language. Who speaks another one is refused, and told both.
pub const VERSION: u32 = 2;

/// How long bytes of a link that lasts may go without an acknowledgement before either end takes
/// its path for cut, in milliseconds.
pub const LINK_SILENCE_MS: u32 = 20_000;
