//! A connection: a socket, with or without TLS.

use crate::deadline::wait_ready;
use crate::error::{Error, Result};
use crate::relay;
use crate::socket::{Moved, Socket};
use crate::tls::{ServerTls, Tls};
use rustix::event::PollFlags;
use rustix::net::sockopt;
use std::fmt;
use std::io::{self, IoSlice};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Maximum number of bytes that are read and discarded from the peer after this side has closed the
/// connection.
const LAST_BYTES: usize = 1 << 20;

/// Time without traffic on a TCP connection after which its first heartbeat is sent.
const IDLE: Duration = Duration::from_secs(30);

/// The process at the other end of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Peer {
    /// A process of this machine.
    Unix {
        /// The ID of the user that runs the process.
        uid: u32,
        /// The ID of the process at the other end.
        pid: i32,
    },
    /// A process that is connected over TCP, at this address.
    Tcp(SocketAddr),
}

impl fmt::Display for Peer {
    /// Write user and process ID of a local peer, or the address of a TCP peer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { uid, pid } => write!(f, "uid {uid} pid {pid}"),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// A connection to a peer, with or without TLS. Only calls with a deadline block.
#[derive(Debug)]
pub struct Transport {
    socket: Socket,
    tls: Option<Tls>,
    /// Decrypted bytes that came together with the first line. The next reads return them first.
    unread: Vec<u8>,
    peer: Peer,
}

/// The size in bytes of the send buffer of a Unix socket, as far as the system permits: a message with 1 MiB of data is
/// sent by one system call, without a context switch for each part.
const SEND_BYTES: usize = 1 << 20;

impl Transport {
    /// Wrap a connected Unix socket.
    ///
    /// # Errors
    /// The system does not report the peer.
    pub fn unix(socket: UnixStream) -> Result<Self> {
        let peer = sockopt::socket_peercred(&socket);
        let peer = peer.map_err(|error| Error::system("who is at a Unix socket", error))?;
        let peer = Peer::Unix {
            uid: peer.uid.as_raw(),
            pid: peer.pid.as_raw_nonzero().get(),
        };
        // Ignore a failure: it only costs speed.
        let _ = sockopt::set_socket_send_buffer_size(&socket, SEND_BYTES);
        Ok(Self::plain(socket.into(), peer))
    }

    /// Wrap a TCP connection. Keepalive is enabled, so that the system detects when the peer's host is gone.
    #[must_use]
    pub fn tcp(socket: TcpStream, address: SocketAddr) -> Self {
        let socket = Socket::from(socket);
        socket.set_keepalive(IDLE, None);
        Self::plain(socket, Peer::Tcp(address))
    }

    /// Create a connection without TLS.
    fn plain(socket: Socket, peer: Peer) -> Self {
        Self {
            socket,
            tls: None,
            unread: Vec::new(),
            peer,
        }
    }

    /// Turn the connection into a TLS connection: expect a TLS handshake from the peer.
    ///
    /// # Errors
    /// TLS refuses the configuration.
    pub fn encrypted(self, tls: &ServerTls) -> Result<Self> {
        Ok(self.with_tls(tls.accept()?))
    }

    /// Return this connection with TLS encryption, for which `tls` holds the state.
    pub(crate) fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Return the peer of the connection: the process at the other end.
    #[must_use]
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Return whether TLS encrypts the connection.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Return whether the connection is a Unix socket.
    #[must_use]
    pub fn is_unix(&self) -> bool {
        matches!(self.peer, Peer::Unix { .. })
    }

    /// Return the kind of the connection: `unix`, `tcp` or `tls`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match (&self.tls, &self.peer) {
            (Some(_), _) => "tls",
            (None, Peer::Unix { .. }) => "unix",
            (None, Peer::Tcp(_)) => "tcp",
        }
    }

    /// Let the system close a TCP connection on which no byte is acknowledged, or none arrives, for
    /// about this time.
    pub fn limit_silence(&self, silence_ms: u32) {
        if !self.is_unix() {
            self.socket
                .set_keepalive(Duration::from_secs(20), Some(silence_ms));
        }
    }

    /// Return whether decrypted bytes wait to be read; `poll` of the socket does not report these.
    pub fn has_buffered(&mut self) -> bool {
        !self.unread.is_empty() || self.tls.as_mut().is_some_and(Tls::has_buffered)
    }

    /// Return whether bytes that `write` accepted wait to be written to the socket.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::wants_write)
    }

    /// Return the `poll` events of the socket for which a reader of the connection must wait.
    #[must_use]
    pub fn read_flags(&self) -> PollFlags {
        match self.wants_write() {
            true => PollFlags::IN | PollFlags::OUT,
            false => PollFlags::IN,
        }
    }

    /// Write bytes that earlier calls of `write` accepted to the socket, as many as fit.
    ///
    /// # Errors
    /// The peer is gone.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.flush(&self.socket),
            None => Ok(()),
        }
    }

    /// Read available bytes of the connection into `bytes`.
    ///
    /// # Errors
    /// The error of the system; a failed handshake.
    pub fn read(&mut self, bytes: &mut [u8]) -> io::Result<Moved> {
        if !self.unread.is_empty() {
            let read = self.unread.len().min(bytes.len());
            bytes[..read].copy_from_slice(&self.unread[..read]);
            self.unread.drain(..read);
            return Ok(Moved::Some(read));
        }
        match &mut self.tls {
            Some(tls) => tls.read(&self.socket, bytes),
            None => self.socket.read(bytes),
        }
    }

    /// Copy bytes that have arrived at the socket, still encrypted, and leave them in the socket.
    ///
    /// # Errors
    /// The error of the system.
    pub fn peek(&self, bytes: &mut [u8]) -> io::Result<Moved> {
        self.socket.peek(bytes)
    }

    /// Duplicate the descriptor of the socket.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn try_clone_socket(&self) -> io::Result<Socket> {
        self.socket.try_clone()
    }

    /// Write as many of the bytes as fit: to the socket now, or to a buffer that `flush` writes.
    ///
    /// # Errors
    /// As [`Transport::read`].
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<Moved> {
        match &mut self.tls {
            Some(tls) => tls.write(&self.socket, bytes),
            None => self.socket.write(&[IoSlice::new(bytes)]),
        }
    }

    /// Write all bytes to the peer. Return `false` if the peer is gone, or does not accept all
    /// bytes before the deadline.
    #[must_use]
    pub fn write_all(&mut self, mut bytes: &[u8], deadline: Instant) -> bool {
        loop {
            if !bytes.is_empty() {
                match self.write(bytes) {
                    Ok(Moved::Some(written)) => {
                        bytes = &bytes[written..];
                        continue;
                    }
                    Ok(Moved::None) => {}
                    Ok(Moved::End) | Err(_) => return false,
                }
            } else if self.flush().is_err() {
                return false;
            } else if !self.wants_write() {
                return true;
            }
            if !wait_ready(&*self, PollFlags::OUT, deadline) {
                return false;
            }
        }
    }

    /// Read the first line from the peer, of at most `limit` bytes. The bytes after it stay in the
    /// socket, which may be passed to another process.
    ///
    /// # Errors
    /// The reason why no line could be read.
    pub fn read_first_line(
        &mut self,
        limit: usize,
        deadline: Instant,
    ) -> std::result::Result<Vec<u8>, String> {
        if self.is_encrypted() {
            return self.decrypt_first_line(limit, deadline);
        }
        let mut line = Vec::new();
        let mut seen = vec![0; limit];
        loop {
            if !wait_ready(&*self, PollFlags::IN, deadline) {
                return Err("it said nothing".into());
            }
            let arrived = match self.socket.peek(&mut seen) {
                Ok(Moved::Some(arrived)) => arrived,
                Ok(Moved::None) => continue,
                Ok(Moved::End) | Err(_) => {
                    return Err("it was closed before it said anything".into());
                }
            };
            let end = seen[..arrived].iter().position(|byte| *byte == b'\n');
            let wanted = end.map_or(arrived, |end| end + 1);
            let Ok(Moved::Some(read)) = self.read(&mut seen[..wanted]) else {
                continue;
            };
            line.extend_from_slice(&seen[..read]);
            if line.last() == Some(&b'\n') {
                line.pop();
                return Ok(line);
            }
            if line.len() > limit {
                return Err(format!("its first line has more than {limit} bytes"));
            }
        }
    }

    /// Read and decrypt the first line of a connection with TLS.
    fn decrypt_first_line(
        &mut self,
        limit: usize,
        deadline: Instant,
    ) -> std::result::Result<Vec<u8>, String> {
        let mut line = Vec::new();
        let mut bytes = [0; 1024];
        loop {
            match self.read(&mut bytes) {
                Ok(Moved::Some(read)) => line.extend_from_slice(&bytes[..read]),
                Ok(Moved::End) | Err(_) => return Err("it was closed, or speaks no TLS".into()),
                Ok(Moved::None) => {
                    let ready = wait_ready(&*self, self.read_flags(), deadline);
                    if !ready || self.flush().is_err() {
                        return Err("it said nothing".into());
                    }
                }
            }
            if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                self.unread = line.split_off(end + 1);
                line.pop();
                return Ok(line);
            }
            if line.len() > limit {
                return Err(format!("its first line has more than {limit} bytes"));
            }
        }
    }

    /// Close the connection so that the peer can still read the last bytes. Bytes that the peer
    /// sends in the meantime are discarded.
    pub fn close_gracefully(&mut self, deadline: Instant) {
        if let Some(tls) = &mut self.tls {
            tls.close(&self.socket);
        }
        self.socket.finish();
        let mut discarded = [0; 4096];
        let mut total = 0;
        while total <= LAST_BYTES && wait_ready(&*self, PollFlags::IN, deadline) {
            match self.read(&mut discarded) {
                Ok(Moved::Some(read)) => total += read,
                Ok(Moved::None) => {}
                Ok(Moved::End) | Err(_) => return,
            }
        }
    }

    /// Close both directions of the connection at once.
    pub fn close(&self) {
        self.socket.close();
    }

    /// Return a plain socket that carries this connection. With TLS, a thread relays the bytes to
    /// one end of a pair of sockets.
    ///
    /// # Errors
    /// The process cannot open more descriptors or start more threads.
    pub fn into_socket(self) -> io::Result<Socket> {
        if self.is_encrypted() {
            return relay::start(self);
        }
        Ok(self.socket)
    }
}

impl AsFd for Transport {
    /// Return the descriptor of the socket.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
