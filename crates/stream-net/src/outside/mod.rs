//! The transports of connections.

mod datagrams;
mod file;
mod framed;
mod journal;
mod part;
mod plain;
mod screen;
mod taking;
mod writers;

pub(crate) use datagrams::{Datagrams, MOST as DATAGRAM_MOST};
pub(crate) use file::{Filing, Kept, Then, Wrote};
pub(crate) use framed::Framed;
pub use journal::Journal;
pub use part::{NAME_MOST, is_part, replaceable};
pub(crate) use plain::Plain;
pub(crate) use screen::Drawing;
pub(crate) use taking::{Expected, refused as refused_by_plain};
pub(crate) use writers::Writers;

use isthmus_stream::checksum::Checksum;
use isthmus_wire::Socket;
use std::time::Instant;

/// The transport that uses a socket once it is connected.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Becomes {
    /// Packets with this checksum.
    Framed(Checksum),
    /// Plain bytes; the channel, if it receives.
    Plain(Option<u32>),
}

/// The transport of one connection.
#[derive(Debug)]
pub(crate) enum Outside {
    /// Waits for a socket that the application provides under this name.
    Given(String, Becomes),
    /// A socket that the system is connecting.
    Connecting(Socket, Becomes),
    /// Packets.
    Framed(Box<Framed>),
    /// Plain bytes over TCP.
    Plain(Box<Plain>),
    /// A file.
    File(Box<Filing>),
    /// A screen.
    Screen(Drawing),
    /// Waits for a UDP socket that the application provides under this name.
    GivenDatagrams(String),
    /// Packets as datagrams.
    Datagrams(Box<Datagrams>),
}

impl Outside {
    pub fn connected(socket: Socket, becomes: Becomes) -> Self {
        match becomes {
            Becomes::Framed(checksum) => Self::Framed(Box::new(Framed::new(socket, checksum))),
            Becomes::Plain(takes) => Self::Plain(Box::new(Plain::new(socket, takes))),
        }
    }

    /// Returns its socket, if it has one.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Connecting(socket, _) => Some(socket),
            Self::Framed(framed) => Some(&framed.socket),
            Self::Plain(plain) => Some(&plain.socket),
            Self::Given(..) | Self::File(_) | Self::Screen(_) => None,
            Self::GivenDatagrams(_) | Self::Datagrams(_) => None,
        }
    }

    /// Whether nothing can move before a poll finds its socket ready or an order comes.
    pub fn rests(&self, now: Instant) -> bool {
        match self {
            Self::Given(..) | Self::GivenDatagrams(_) | Self::Connecting(..) => true,
            Self::Framed(framed) => framed.rests(),
            Self::Plain(plain) => plain.rests(now),
            Self::File(_) | Self::Screen(_) | Self::Datagrams(_) => false,
        }
    }
}
