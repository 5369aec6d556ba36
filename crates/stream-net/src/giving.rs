//! What applications give for connections to use: sockets and rings, by name.

use crate::carrier::Carrier;
use crate::driver::Driver;
use crate::outside::{Becomes, Datagrams, Framed, Outside};
use crate::socket::Socket;
use isthmus_ring::{Consumer, Producer};
use isthmus_stream::ConnectionId;
use isthmus_stream::checksum::Checksum;
use std::net::UdpSocket;

impl Driver {
    /// Gives a connected socket to the connection that wants one of this name, now or later.
    pub fn give(&mut self, name: &str, socket: impl Into<Socket>) {
        self.give_carrier(name, Carrier::Socket(socket.into()));
    }

    /// Gives rings to the connection that wants something of this name: one that is written here,
    /// and one that is read.
    pub fn give_rings(&mut self, name: &str, out: Producer, into: Consumer) {
        self.give_carrier(name, Carrier::rings(out, into, false));
    }

    /// The same, for a sink that may read data of large packets in the rings of ranks itself, where
    /// it lies until the sink has confirmed it, instead of being sent a copy: if it says that it
    /// does ([`Consumer::borrow`]), and the connection is one that confirms and keeps order
    /// ([`Protocol::Stream`](isthmus_stream::Protocol::Stream)). What is in a rank's way is copied all the same, and taken back from
    /// the sink.
    ///
    /// Such a sink can read all that lies in these ranks' rings, also what is for others, and write
    /// nothing of it.
    pub fn lend_rings(&mut self, name: &str, out: Producer, into: Consumer) {
        self.give_carrier(name, Carrier::rings(out, into, true));
    }

    pub(crate) fn give_carrier(&mut self, name: &str, carrier: Carrier) {
        let mut outsides = self.outsides.iter();
        let waits = outsides.find_map(|(id, one)| match one {
            Outside::Given(wanted, becomes) if wanted == name => Some((*id, *becomes)),
            _ => None,
        });
        let Some((id, becomes)) = waits else {
            self.given.insert(name.to_owned(), carrier);
            return;
        };
        if let Err(why) = self.carried(id, carrier, becomes) {
            self.lost(id, &why);
        }
    }

    /// Gives a UDP socket, connected to the peer, to the connection that wants one of this name.
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

    pub(crate) fn take_given(&mut self, name: &str) -> Option<Carrier> {
        self.given.remove(name)
    }

    /// Makes a connection of what carries it.
    ///
    /// # Errors
    /// Rings for plain bytes, in words.
    pub(crate) fn carried(
        &mut self,
        id: ConnectionId,
        mut carrier: Carrier,
        becomes: Becomes,
    ) -> std::result::Result<(), String> {
        let confirms = self.connections.get(&id).is_some_and(|one| one.confirms);
        if let Carrier::Rings(rings) = &mut carrier {
            // What nobody confirms would be lent for ever.
            rings.lends &= confirms;
        }
        let outside = match (carrier, becomes) {
            (Carrier::Socket(socket), _) => Outside::connected(socket, becomes),
            (rings, Becomes::Framed(checksum)) => {
                Outside::Framed(Box::new(Framed::new(rings, checksum)))
            }
            (_, Becomes::Plain(_)) => {
                return Err("rings were given for plain bytes: they go over a socket".into());
            }
        };
        self.outsides.insert(id, outside);
        let now = self.now();
        self.manager.handle_connected(now, id);
        Ok(())
    }
}
