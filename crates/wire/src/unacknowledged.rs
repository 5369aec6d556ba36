//! The number of bytes of a TCP connection that the peer's system has not acknowledged: the value
//! of `SIOCOUTQ`, requested from the kernel by `NETLINK_SOCK_DIAG` (sock_diag(7)), which needs no
//! `unsafe`. The cost of a request does not depend on the other sockets of the host.

use crate::socket::Socket;
use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::SocketAddr as Kernel;
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use rustix::fs::fstat;
use std::io;
use std::net::SocketAddr;

/// Maximum size of a reply of the kernel in bytes: a header and one socket, without extensions.
const ANSWER: usize = 512;
/// Value of the socket cookie in a netlink request that matches any socket.
const NO_COOKIE: [u8; 8] = [0xff; 8];

/// A query to the kernel, over netlink, for the number of bytes of one TCP connection that the peer
/// has not acknowledged.
#[derive(Debug)]
pub struct Unacknowledged {
    kernel: netlink_sys::Socket,
    request: Vec<u8>,
    inode: u32,
}

impl Unacknowledged {
    /// Prepare a query about a connected socket.
    ///
    /// # Errors
    /// The socket is not connected over TCP, or the system has no `NETLINK_SOCK_DIAG`.
    pub fn of(socket: &Socket) -> io::Result<Self> {
        let (from, to) = socket.addresses()?;
        let mut kernel = netlink_sys::Socket::new(NETLINK_SOCK_DIAG)?;
        kernel.bind_auto()?;
        kernel.connect(&Kernel::new(0, 0))?;
        kernel.set_non_blocking(true)?;
        Ok(Self {
            kernel,
            request: encode_request(from, to),
            // Keep 32 bits of the inode, as the kernel's table of sockets does.
            inode: fstat(socket)?.st_ino as u32,
        })
    }

    /// Query the kernel for the number of bytes that the peer has not acknowledged.
    ///
    /// # Errors
    /// The kernel no longer knows the connection: it is closed in both directions, or was reset.
    pub fn bytes(&self) -> io::Result<u64> {
        self.kernel.send(&self.request, 0)?;
        let mut answer = Vec::with_capacity(ANSWER);
        self.kernel.recv(&mut answer, 0)?;
        let answer = NetlinkMessage::<SockDiagMessage>::deserialize(&answer);
        match answer.map_err(io::Error::other)?.payload {
            NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found))
                if found.header.inode == self.inode =>
            {
                Ok(found.header.send_queue.into())
            }
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

/// Encode the netlink request to the kernel about the TCP connection between two addresses.
fn encode_request(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    let (family, interface_id) = match from {
        SocketAddr::V4(_) => (AF_INET, 0),
        SocketAddr::V6(from) => (AF_INET6, from.scope_id()),
    };
    let request = InetRequest {
        family,
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::all(),
        socket_id: SocketId {
            source_port: from.port(),
            destination_port: to.port(),
            source_address: from.ip(),
            destination_address: to.ip(),
            interface_id,
            cookie: NO_COOKIE,
        },
    };
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// Checks the number of unacknowledged bytes: a peer that does not read leaves bytes
    /// unacknowledged; once it has read all of them, none are left.
    #[test]
    fn bytes_count_until_they_are_acknowledged() -> io::Result<()> {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(at)?;
            let stream = TcpStream::connect(listener.local_addr()?)?;
            let (mut peer, _) = listener.accept()?;
            stream.set_nonblocking(true)?;
            let socket = Socket::new(stream.try_clone()?.into());
            let unacknowledged = Unacknowledged::of(&socket)?;
            assert_eq!(unacknowledged.bytes()?, 0);
            let mut written = 0;
            while let Ok(bytes) = (&stream).write(&[7; 1 << 16]) {
                written += bytes;
            }
            let kept = unacknowledged.bytes()?;
            assert!(kept > 0 && kept <= written as u64, "{kept} of {written}");
            peer.read_exact(&mut vec![0; written])?;
            while unacknowledged.bytes()? > 0 {
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Checks that a connection that was reset gives an error.
    #[test]
    fn a_connection_that_was_reset_is_unknown() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let stream = TcpStream::connect(listener.local_addr()?)?;
        let (peer, _) = listener.accept()?;
        let socket = Socket::new(stream.try_clone()?.into());
        let unacknowledged = Unacknowledged::of(&socket)?;
        (&stream).write_all(&[7])?;
        // Close the peer with an unread byte, so that the system resets the connection.
        drop(peer);
        let unknown = loop {
            if let Err(error) = unacknowledged.bytes() {
                break error;
            }
            std::thread::yield_now();
        };
        assert_eq!(unknown.kind(), io::ErrorKind::NotFound);
        Ok(())
    }
}
