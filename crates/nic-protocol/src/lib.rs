//! The protocol of the stream manager's control interface (Steenkiste 1996, sections 5.1 to 5.3):
//! requests of applications and operators, and messages of the daemon. Each is a line of JSON of at
//! most [`LINE_BYTES`].
//!
//! A *session* is one socket to the daemon: Unix or TCP, with or without TLS. Its first line is a
//! [`Request::Hello`], a [`Request::Join`] or a [`Request::Link`]:
//!
//! - `hello` creates an *application*, which lives as long as this session and has a *ticket*;
//! - `join` adds another process or rank to that application, by the ticket;
//! - `link` turns the socket into a link of that application. After the answer no further line
//!   follows: either frames of links, or one message with the descriptors of two rings. With rings,
//!   the socket only shows each side that the other is alive.
//!
//! A link over a socket may *last* ([`Lasting`]). When its socket is cut, the rank requests the
//! link again with the same key within a time of grace. Both sides report how many bytes they have
//! received, and continue from there. Received bytes are confirmed over the session of the rank's
//! process ([`Request::Taken`], [`Message::Link`]), where data of the link cannot delay the
//! confirmation. Each side keeps unconfirmed bytes. The link ends with the session.
//!
//! Each request except [`Request::Taken`] has a number that the client chooses. The daemon answers
//! it once, with that number, in any order. Events of an application's streams and connections
//! arrive between answers as [`Message::Event`], in sessions that requested them with `watch`. No
//! event of a stream or a connection precedes the answer with its number.
//!
//! The daemon assigns numbers to streams and connections; an application numbers its own links from
//! 0. All sizes are in bytes and all times in nanoseconds, as the names of the fields say.

mod answer;
mod convert;
mod line;
mod request;

pub use answer::{
    Answer, Connection, Counts, Event, Link, LinkNews, Message, Overview, Refusal, RefusalKind,
    Stream, Welcome,
};
pub use line::{Encode, Garbled, LINE_BYTES, Lines, Parse, read, request_number, write};
pub use request::{
    Carrier, Checksum, Direction, Format, Geometry, Lasting, Other, Pixel, Protocol, Request,
    RequestLine, Spec,
};

/// The version of this protocol. A client with another version is refused, and the refusal names
/// both.
pub const VERSION: u32 = 2;

/// How long bytes of a lasting link may stay without an acknowledgement before either end treats
/// its path as cut, in milliseconds.
pub const LINK_SILENCE_MS: u32 = 20_000;
