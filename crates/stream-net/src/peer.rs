//! What sinks read and write: sockets, and rings in which large packets may be lent.

use isthmus_ring::{Consumer, Loan, Producer};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes that are copied of what is lent before they are summed, while they are in the first cache.
const LENT_STEP: usize = 32 << 10;

/// What a sink reads and writes: bytes, and it can look whether some are there.
pub trait Peer: Read + Write {
    /// Reads what is there, and waits for nothing: none if that is nothing, 0 bytes at the end.
    ///
    /// # Errors
    /// As [`Read::read`].
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>>;

    /// Copies what is lent to `bytes`, which has as many, and shows it to `seen` in pieces, each
    /// with its place and just copied.
    ///
    /// # Returns
    /// Whether it was lent until all was copied. If not, it comes again.
    ///
    /// # Errors
    /// Where nothing can be lent; otherwise as [`Consumer::read_lent`].
    fn read_lent(
        &mut self,
        _loan: &Loan,
        _bytes: &mut [u8],
        _seen: &mut dyn FnMut(usize, &mut [u8]),
    ) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn receive_now(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<Option<usize>> {
    match rustix::net::recv(socket, bytes, RecvFlags::DONTWAIT) {
        Ok((read, _)) => Ok(Some(read)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl Peer for TcpStream {
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        receive_now(self, bytes)
    }
}

impl Peer for UnixStream {
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        receive_now(self, bytes)
    }
}

impl Peer for Rings {
    fn read_now(&mut self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        match self.from.try_read(bytes).map_err(as_io)? {
            Some(0) => Ok(None),
            Some(read) => Ok(Some(read)),
            None => Ok(Some(0)),
        }
    }

    fn read_lent(
        &mut self,
        loan: &Loan,
        bytes: &mut [u8],
        seen: &mut dyn FnMut(usize, &mut [u8]),
    ) -> io::Result<bool> {
        let good = self.from.read_lent(loan, bytes, LENT_STEP, seen);
        good.map_err(as_io)
    }
}

/// Two rings as one stream, for [`Sink::serve`](crate::sink::Sink::serve) in a process of the same machine.
#[derive(Debug)]
pub struct Rings {
    /// The ring that the sender writes.
    pub from: Consumer,
    /// The ring that the sender reads.
    pub to: Producer,
    /// How long each read or write may take.
    pub patience: Duration,
}

impl Rings {
    /// Says that large packets may be read where they lie, in rings of at most `most` bytes, if the
    /// sender lends them ([`Driver::lend_rings`](crate::Driver::lend_rings)).
    #[must_use]
    pub fn borrowing(mut self, most: u64) -> Self {
        self.from.borrow(most);
        self
    }
}

fn as_io(error: isthmus_ring::Error) -> io::Error {
    match error {
        isthmus_ring::Error::PeerGone { .. } => io::ErrorKind::ConnectionReset.into(),
        isthmus_ring::Error::Closed { .. } => io::ErrorKind::BrokenPipe.into(),
        other => io::Error::other(other),
    }
}

impl Read for Rings {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.patience;
        self.from.read(bytes, deadline).map_err(as_io)
    }

    fn read_exact(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        let deadline = Instant::now() + self.patience;
        self.from.read_exact(bytes, deadline).map_err(as_io)
    }
}

impl Write for Rings {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let deadline = Instant::now() + self.patience;
        self.to.write_all(bytes, deadline).map_err(as_io)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
