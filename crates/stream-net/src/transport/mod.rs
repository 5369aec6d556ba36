//! The transports of connections: sockets, files and screens to and from which their data moves.

mod datagrams;
mod file;
mod framed;
mod journal;
mod part;
mod plain;
mod plain_receive;
mod screen;
mod writers;

pub(crate) use datagrams::{DATA_MAX as DATAGRAM_MAX, Datagrams};
pub(crate) use file::{FileEnd, FileOutcome, FileTransport, WriterEvent};
pub(crate) use framed::Framed;
pub use journal::Journal;
pub use part::{NAME_MAX, is_part, replaceable};
pub(crate) use plain::Plain;
pub(crate) use plain_receive::{Expected, refused as refused_by_plain};
pub(crate) use screen::Drawing;
pub(crate) use writers::Writers;

use crate::memory::Memory;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::wire::Header;
use isthmus_stream::{ConnectionId, Manager, Offer, PacketId};
use isthmus_wire::Socket;
use std::time::Instant;

/// Access to the stream manager and to the memory of packets, with which a transport passes on the packets
/// that it receives over the connection `id`.
pub(crate) struct Incoming<'a> {
    pub now: isthmus_stream::Instant,
    pub id: ConnectionId,
    pub manager: &'a mut Manager,
    pub memory: &'a mut Memory,
}

impl Incoming<'_> {
    /// Asks the stream manager whether to accept a received packet with this header.
    pub fn offer(&mut self, header: &Header) -> Offer {
        self.manager.offer(self.now, self.id, header)
    }

    /// Reports to the stream manager that the data of a packet has been received into the memory of the
    /// packet; `sum` is the checksum of the data.
    pub fn arrived(&mut self, packet: PacketId, sum: u32) {
        self.manager.handle_arrived(self.now, packet, Some(sum));
    }
}

/// How a socket is used once it is connected: for packets or for plain bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SocketUse {
    /// The socket carries packets with headers and this checksum.
    Framed(Checksum),
    /// The socket carries bytes without headers. The field is the channel number of the connection, or
    /// `None` if the connection only sends.
    Plain(Option<u32>),
}

/// The transport of one connection: the socket, file or screen to or from which its data moves.
#[derive(Debug)]
pub(crate) enum Transport {
    /// The connection has no socket yet. It waits until the application provides a socket with this name.
    AwaitingSocket(String, SocketUse),
    /// A socket whose connection to the peer is not established yet.
    Connecting(Socket, SocketUse),
    /// A stream socket that carries packets.
    Framed(Box<Framed>),
    /// A socket that carries plain bytes over TCP.
    Plain(Box<Plain>),
    /// A file. A thread of its own writes the received data to it.
    File(Box<FileTransport>),
    /// A screen of the frame buffer, on which the connection draws the data that it receives.
    Screen(Drawing),
    /// The connection has no socket yet. It waits until the application provides a UDP socket with this name.
    AwaitingDatagrams(String),
    /// A UDP socket that carries packets as datagrams.
    Datagrams(Box<Datagrams>),
}

impl Transport {
    /// Creates the transport of a connected socket.
    pub fn connected(socket: Socket, socket_use: SocketUse) -> Self {
        match socket_use {
            SocketUse::Framed(checksum) => Self::Framed(Box::new(Framed::new(socket, checksum))),
            SocketUse::Plain(takes) => Self::Plain(Box::new(Plain::new(socket, takes))),
        }
    }

    /// Returns the transport's stream socket, if it has one.
    pub fn socket(&self) -> Option<&Socket> {
        match self {
            Self::Connecting(socket, _) => Some(socket),
            Self::Framed(framed) => Some(&framed.socket),
            Self::Plain(plain) => Some(&plain.socket),
            Self::AwaitingSocket(..) | Self::File(_) | Self::Screen(_) => None,
            Self::AwaitingDatagrams(_) | Self::Datagrams(_) => None,
        }
    }

    /// Returns whether the connection can move no data until the socket is ready or the stream manager
    /// gives a new order.
    pub fn is_blocked(&self, now: Instant) -> bool {
        match self {
            Self::AwaitingSocket(..) | Self::AwaitingDatagrams(_) | Self::Connecting(..) => true,
            Self::Framed(framed) => framed.is_blocked(),
            Self::Plain(plain) => plain.is_blocked(now),
            Self::File(_) | Self::Screen(_) | Self::Datagrams(_) => false,
        }
    }
}
