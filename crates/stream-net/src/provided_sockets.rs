//! Stores the sockets that applications provide for their connections, by name.

use crate::driver::Driver;
use crate::transport::{Datagrams, SocketUse, Transport};
use isthmus_stream::ConnectionId;
use isthmus_stream::checksum::Checksum;
use isthmus_wire::Socket;
use std::net::UdpSocket;

impl Driver {
    /// Provides a connected socket for the connection whose destination has this name, now or
    /// later.
    pub fn provide_socket(&mut self, name: &str, socket: impl Into<Socket>) {
        let mut transports = self.transports.iter();
        let waits = transports.find_map(|(id, one)| match one {
            Transport::AwaitingSocket(wanted, socket_use) if wanted == name => {
                Some((*id, *socket_use))
            }
            _ => None,
        });
        let Some((id, socket_use)) = waits else {
            self.provided_sockets.insert(name.to_owned(), socket.into());
            return;
        };
        self.connected(id, socket.into(), socket_use);
    }

    /// Provides a connected UDP socket to the connection whose destination names it `name`.
    pub fn provide_datagrams(&mut self, name: &str, socket: UdpSocket) {
        let waits = self.transports.iter().find(|(_, one)| match one {
            Transport::AwaitingDatagrams(wanted) => wanted == name,
            _ => false,
        });
        match waits.map(|(id, _)| *id) {
            Some(id) => self.datagrams(id, Datagrams::from_socket(socket, self.checksum_of(id))),
            None => _ = self.provided_datagrams.insert(name.to_owned(), socket),
        }
    }

    /// Uses this UDP transport for connection `id`, and reports to the stream manager that the
    /// connection is open.
    pub(crate) fn datagrams(&mut self, id: ConnectionId, datagrams: Datagrams) {
        self.transports
            .insert(id, Transport::Datagrams(Box::new(datagrams)));
        let now = self.now();
        self.manager.handle_connected(now, id);
    }

    /// Returns the kind of checksum of a connection's data.
    pub(crate) fn checksum_of(&self, id: ConnectionId) -> Checksum {
        self.connections
            .get(&id)
            .map_or(Checksum::None, |one| one.checksum)
    }

    /// Uses a connected socket as the transport of connection `id`, and reports to the stream
    /// manager that the connection is open.
    pub(crate) fn connected(&mut self, id: ConnectionId, socket: Socket, socket_use: SocketUse) {
        self.transports
            .insert(id, Transport::connected(socket, socket_use));
        let now = self.now();
        self.manager.handle_connected(now, id);
    }
}
