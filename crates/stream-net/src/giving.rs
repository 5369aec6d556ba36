//! Sockets that applications provide for connections, by name.

use crate::driver::Driver;
use crate::outside::{Becomes, Datagrams, Outside};
use isthmus_stream::ConnectionId;
use isthmus_stream::checksum::Checksum;
use isthmus_wire::Socket;
use std::net::UdpSocket;

impl Driver {
    /// Provides a connected socket for the connection that names it, now or later.
    pub fn give(&mut self, name: &str, socket: impl Into<Socket>) {
        let mut outsides = self.outsides.iter();
        let waits = outsides.find_map(|(id, one)| match one {
            Outside::Given(wanted, becomes) if wanted == name => Some((*id, *becomes)),
            _ => None,
        });
        let Some((id, becomes)) = waits else {
            self.given.insert(name.to_owned(), socket.into());
            return;
        };
        self.connected(id, socket.into(), becomes);
    }

    /// Provides a UDP socket, connected to the peer, for the connection that names it.
    pub fn give_datagrams(&mut self, name: &str, socket: UdpSocket) {
        let waits = self.outsides.iter().find(|(_, one)| match one {
            Outside::GivenDatagrams(wanted) => wanted == name,
            _ => false,
        });
        match waits.map(|(id, _)| *id) {
            Some(id) => self.datagrams(id, Datagrams::given(socket, self.checksum_of(id))),
            None => _ = self.given_datagrams.insert(name.to_owned(), socket),
        }
    }

    pub(crate) fn datagrams(&mut self, id: ConnectionId, datagrams: Datagrams) {
        self.outsides
            .insert(id, Outside::Datagrams(Box::new(datagrams)));
        let now = self.now();
        self.manager.handle_connected(now, id);
    }

    pub(crate) fn checksum_of(&self, id: ConnectionId) -> Checksum {
        self.connections
            .get(&id)
            .map_or(Checksum::None, |one| one.checksum)
    }

    /// Turns a connected socket into a connection.
    pub(crate) fn connected(&mut self, id: ConnectionId, socket: Socket, becomes: Becomes) {
        self.outsides
            .insert(id, Outside::connected(socket, becomes));
        let now = self.now();
        self.manager.handle_connected(now, id);
    }
}
