//! A session's socket, which never blocks.

use crate::error::{Error, Result};
use crate::tls::Tls;
use isthmus_nic_protocol::{LINE_BYTES, LINK_SILENCE_MS};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, shutdown, sockopt};
use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes of a first line at most: nobody has been let in yet.
const FIRST_BYTES: usize = 8 << 10;

/// Who is at the other end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Peer {
    /// A process of this machine, by its user and its number.
    Unix { uid: u32, pid: i32 },
    /// Somebody at this address.
    Tcp(SocketAddr),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { uid, pid } => write!(f, "uid {uid} pid {pid}"),
            Self::Tcp(address) => address.fmt(f),
        }
    }
}

/// What came of an attempt to move bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Moved {
    /// So many, above 0.
    Some(usize),
    /// None now.
    None,
    /// There will be no more.
    End,
}

/// One socket of the control interface.
#[derive(Debug)]
pub(crate) struct Wire {
    fd: OwnedFd,
    tls: Option<Tls>,
    /// What came behind the first line, where it could not be left in the socket.
    rest: Vec<u8>,
    pub peer: Peer,
}

/// Waits until a descriptor is ready; false at the deadline.
pub(crate) fn ready(fd: BorrowedFd<'_>, what: PollFlags, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::from_borrowed_fd(fd, what)], timeout.as_ref()) {
            Ok(0) if Instant::now() >= deadline => return false,
            Ok(0) | Err(Errno::INTR) => {}
            // What is wrong with it is told by the call that follows.
            Ok(_) | Err(_) => return true,
        }
    }
}

/// Looks at what has come, and takes nothing.
pub(crate) fn peek(socket: impl AsFd, bytes: &mut [u8]) -> Moved {
    receive_with(socket, bytes, RecvFlags::DONTWAIT | RecvFlags::PEEK)
}

/// Reads what is there.
pub(crate) fn receive(socket: impl AsFd, bytes: &mut [u8]) -> Moved {
    receive_with(socket, bytes, RecvFlags::DONTWAIT)
}

fn receive_with(socket: impl AsFd, bytes: &mut [u8], flags: RecvFlags) -> Moved {
    loop {
        return match recv(&socket, &mut *bytes, flags) {
            Ok((0, _)) => Moved::End,
            Ok((read, _)) => Moved::Some(read),
            Err(Errno::AGAIN) => Moved::None,
            Err(Errno::INTR) => continue,
            // Whatever it is, nothing comes any more.
            Err(_) => Moved::End,
        };
    }
}

/// Writes what the socket takes.
pub(crate) fn send_some(socket: impl AsFd, bytes: &[u8]) -> Moved {
    loop {
        return match send(&socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(0) | Err(Errno::AGAIN) => Moved::None,
            Ok(written) => Moved::Some(written),
            Err(Errno::INTR) => continue,
            Err(_) => Moved::End,
        };
    }
}

impl Wire {
    pub fn unix(socket: UnixStream) -> Result<Self> {
        let peer = sockopt::socket_peercred(&socket);
        let peer = peer.map_err(|error| Error::system("who is at a Unix socket", error))?;
        let peer = Peer::Unix {
            uid: peer.uid.as_raw(),
            pid: peer.pid.as_raw_nonzero().get(),
        };
        Ok(Self::plain(socket.into(), peer))
    }

    /// A TCP connection: lines go at once, and a peer whose machine is gone is found out.
    pub fn tcp(socket: TcpStream, address: SocketAddr) -> Self {
        // What the system refuses here costs time and nothing else.
        let _ = sockopt::set_tcp_nodelay(&socket, true);
        let _ = sockopt::set_socket_keepalive(&socket, true);
        let _ = sockopt::set_tcp_keepidle(&socket, Duration::from_secs(30));
        let _ = sockopt::set_tcp_keepintvl(&socket, Duration::from_secs(10));
        let _ = sockopt::set_tcp_keepcnt(&socket, 3);
        Self::plain(socket.into(), Peer::Tcp(address))
    }

    fn plain(fd: OwnedFd, peer: Peer) -> Self {
        Self {
            fd,
            tls: None,
            rest: Vec::new(),
            peer,
        }
    }

    /// The same with TLS, whose first bytes come from the other side.
    pub fn hidden(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Whether TLS hides what goes over it.
    pub fn is_hidden(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether there are bytes to read that a poll would not tell.
    pub fn has_more(&mut self) -> bool {
        !self.rest.is_empty() || self.tls.as_mut().is_some_and(Tls::has_more)
    }

    /// Whether something waits to be written that was taken already.
    pub fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(Tls::wants_write)
    }

    /// Writes what was taken already, as far as it goes; false if the other side is gone.
    pub fn flush(&mut self) -> bool {
        let fd = self.fd.as_fd();
        self.tls.as_mut().is_none_or(|tls| tls.flush(fd))
    }

    pub fn read(&mut self, bytes: &mut [u8]) -> Moved {
        if !self.rest.is_empty() {
            let read = self.rest.len().min(bytes.len());
            bytes[..read].copy_from_slice(&self.rest[..read]);
            self.rest.drain(..read);
            return Moved::Some(read);
        }
        match &mut self.tls {
            Some(tls) => tls.read(&self.fd, bytes),
            None => receive(&self.fd, bytes),
        }
    }

    pub fn write(&mut self, bytes: &[u8]) -> Moved {
        if let Some(tls) = &mut self.tls {
            return tls.write(&self.fd, bytes);
        }
        send_some(&self.fd, bytes)
    }

    /// Writes all of it; false if the other side is gone or takes nothing until `deadline`.
    pub fn write_all(&mut self, mut bytes: &[u8], deadline: Instant) -> bool {
        loop {
            if !bytes.is_empty() {
                match self.write(bytes) {
                    Moved::Some(written) => {
                        bytes = &bytes[written..];
                        continue;
                    }
                    Moved::End => return false,
                    Moved::None => {}
                }
            } else if !self.flush() {
                return false;
            } else if !self.wants_write() {
                return true;
            }
            if !ready(self.as_fd(), PollFlags::OUT, deadline) {
                return false;
            }
        }
    }

    /// The first line. Nothing behind it is taken from the socket, which may be a link's then.
    ///
    /// # Errors
    /// None came: why.
    pub fn first_line(&mut self, deadline: Instant) -> std::result::Result<Vec<u8>, String> {
        if self.is_hidden() {
            return self.first_hidden_line(deadline);
        }
        let mut line = Vec::new();
        let mut seen = [0; FIRST_BYTES];
        loop {
            if !ready(self.as_fd(), PollFlags::IN, deadline) {
                return Err("it said nothing".into());
            }
            let there = match peek(&self.fd, &mut seen) {
                Moved::Some(there) => there,
                Moved::None => continue,
                Moved::End => return Err("it was closed before it said anything".into()),
            };
            let end = seen[..there].iter().position(|byte| *byte == b'\n');
            let most = end.map_or(there, |end| end + 1);
            let Moved::Some(read) = self.read(&mut seen[..most]) else {
                continue;
            };
            line.extend_from_slice(&seen[..read]);
            if line.last() == Some(&b'\n') {
                line.pop();
                return Ok(line);
            }
            if line.len() > FIRST_BYTES {
                return Err(format!("its first line has more than {FIRST_BYTES} bytes"));
            }
        }
    }

    fn first_hidden_line(&mut self, deadline: Instant) -> std::result::Result<Vec<u8>, String> {
        let mut line = Vec::new();
        let mut bytes = [0; 1024];
        loop {
            match self.read(&mut bytes) {
                Moved::Some(read) => line.extend_from_slice(&bytes[..read]),
                Moved::End => return Err("it was closed, or speaks no TLS".into()),
                Moved::None => {
                    let what = match self.wants_write() {
                        true => PollFlags::IN | PollFlags::OUT,
                        false => PollFlags::IN,
                    };
                    if !ready(self.as_fd(), what, deadline) || !self.flush() {
                        return Err("it said nothing".into());
                    }
                }
            }
            if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                self.rest = line.split_off(end + 1);
                line.pop();
                return Ok(line);
            }
            if line.len() > FIRST_BYTES {
                return Err(format!("its first line has more than {FIRST_BYTES} bytes"));
            }
        }
    }

    /// Says that no more is written, and lets the other side read the last of it: what it has sent
    /// meanwhile is passed by.
    pub fn leave(&mut self, deadline: Instant) {
        if let Some(tls) = &mut self.tls {
            tls.close(&self.fd);
        }
        // One that is gone has nobody to tell.
        let _ = shutdown(&self.fd, rustix::net::Shutdown::Write);
        let mut waste = [0; 4096];
        let mut passed = 0;
        while passed <= LINE_BYTES && ready(self.as_fd(), PollFlags::IN, deadline) {
            match self.read(&mut waste) {
                Moved::Some(read) => passed += read,
                Moved::None => {}
                Moved::End => return,
            }
        }
    }

    /// Of a link that can be made anew: a path that takes nothing for so long is taken for cut.
    pub fn notice_silence(&self) {
        if !self.is_unix() {
            // What the system refuses here costs time and nothing else.
            let _ = sockopt::set_tcp_user_timeout(&self.fd, LINK_SILENCE_MS);
        }
    }

    pub fn is_unix(&self) -> bool {
        matches!(self.peer, Peer::Unix { .. })
    }

    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for Wire {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
