//! A connection to a server: requests out, replies in.

use crate::error::{Error, Result};
use isthmus_forward::message::{
    Data, Key, NO_FID, NO_TAG, OWN_VERSION, Path, Reply, Request, VERSION, read_reply,
};
use isthmus_forward::{Buffer, Calls, Errno, Frames};
use isthmus_wire::{Moved, Remote, Timeout, Transport, wait_ready};
use rustix::event::PollFlags;
use std::time::{Duration, Instant};

/// The fid of the root of the export.
pub const ROOT: u32 = 0;

/// The fid to which the token is written.
const TOKEN_FID: u32 = 1;

/// Size of messages in bytes that the client asks for: 1 MiB of data.
const MESSAGE_BYTES: u32 = (1 << 20) + 24;

/// The time for which a client without a timeout waits.
const LONG: Duration = Duration::from_secs(1 << 32);

/// Minimum size of messages in bytes that a server may offer.
const SMALLEST: u32 = 4096;

/// Number of bytes of requests that may wait before they are sent.
const BATCH: usize = 256 << 10;

/// A connection to a server, with a value of type `T` for each request in flight.
#[derive(Debug)]
pub struct Connection<T> {
    remote: String,
    transport: Transport,
    calls: Calls<T>,
    frames: Frames,
    out: Buffer,
    /// Maximum size of a message in bytes, as agreed on.
    msize: u32,
    /// Whether the server knows the messages of isthmus.
    has_own_messages: bool,
    timeout: Duration,
}

impl<T> Connection<T> {
    /// Connect to a server and attach [`ROOT`] to an export, with a token if the server wants one.
    /// `timeout` is the time that the server may take for any progress.
    ///
    /// # Errors
    /// The server cannot be reached, does not answer, speaks another protocol, or refuses the token
    /// or the export.
    pub fn open(
        remote: &Remote,
        token: Option<&str>,
        export: &[u8],
        timeout: Duration,
    ) -> Result<Self> {
        let mut connection = Self {
            remote: remote.to_string(),
            transport: connect(remote, timeout)?,
            calls: Calls::default(),
            frames: Frames::new(MESSAGE_BYTES as usize),
            out: Buffer::new(),
            msize: MESSAGE_BYTES,
            has_own_messages: false,
            timeout,
        };
        connection.negotiate()?;
        let afid = match token {
            None => NO_FID,
            Some(token) => connection.write_token(token, export)?,
        };
        let (fid, user, uid) = (ROOT, b"".as_slice(), rustix::process::geteuid().as_raw());
        connection.request(&Request::Attach {
            fid,
            afid,
            user,
            export,
            uid,
        })?;
        if afid != NO_FID {
            connection.request(&Request::Clunk { fid: afid })?;
        }
        Ok(connection)
    }

    /// Agree on the version and the size of messages: with the messages of isthmus, if the server has them.
    fn negotiate(&mut self) -> Result<()> {
        let mut found = self.ask_version(OWN_VERSION)?;
        self.has_own_messages = found.0 == OWN_VERSION;
        if !self.has_own_messages && found.0 != VERSION {
            found = self.ask_version(VERSION)?;
        }
        let (version, msize) = found;
        let is_known = self.has_own_messages || version == VERSION;
        if !is_known || !(SMALLEST..=MESSAGE_BYTES).contains(&msize) {
            let version = String::from_utf8_lossy(&version);
            let text = format!("it offers {version:?} with {msize} bytes");
            return Err(Error::Protocol(self.remote.clone(), text));
        }
        self.msize = msize;
        Ok(())
    }

    /// Ask for a version. Return that of the server, and its maximum size of a message.
    fn ask_version(&mut self, version: &[u8]) -> Result<(Vec<u8>, u32)> {
        let msize = MESSAGE_BYTES;
        Request::Version { msize, version }.write(NO_TAG, &mut self.out);
        let remote = self.remote.clone();
        match read_reply(self.receive()?) {
            Ok((NO_TAG, Reply::Version { msize, version })) => Ok((version.to_vec(), msize)),
            // The answer of some servers to a version that they do not know.
            Ok((NO_TAG, Reply::Error { .. })) => Ok((Vec::new(), 0)),
            _ => Err(Error::Protocol(
                remote,
                "it does not answer with a version".into(),
            )),
        }
    }

    /// Write the token of the client. Return its fid.
    fn write_token(&mut self, token: &str, export: &[u8]) -> Result<u32> {
        let (afid, user, uid) = (TOKEN_FID, b"".as_slice(), u32::MAX);
        self.request(&Request::Auth {
            afid,
            user,
            export,
            uid,
        })?;
        let (fid, offset, data) = (afid, 0, Data(token.as_bytes()));
        self.request(&Request::Write { fid, offset, data })?;
        Ok(afid)
    }

    /// Send a request while no other is in flight, and wait for a reply that is no error.
    fn request(&mut self, request: &Request<'_>) -> Result<()> {
        const TAG: u16 = 0;
        request.write(TAG, &mut self.out);
        let remote = self.remote.clone();
        match read_reply(self.receive()?) {
            Ok((TAG, Reply::Error { errno })) => Err(Error::Refused(remote, Errno(errno))),
            Ok((TAG, reply)) if reply.code() == request.code() + 1 => Ok(()),
            _ => Err(Error::Protocol(remote, "the reply has another type".into())),
        }
    }

    /// Give the session a key, under which the client takes it up again over another connection. Does nothing
    /// with a server that does not know this.
    ///
    /// # Errors
    /// As [`Connection::call`].
    pub(crate) fn resume(&mut self, key: Key) -> Result<()> {
        match self.has_own_messages {
            true => self.request(&Request::Resume { key }),
            false => Ok(()),
        }
    }

    /// Return whether the server knows the messages of isthmus.
    pub(crate) fn has_own_messages(&self) -> bool {
        self.has_own_messages
    }

    /// Return the address of the server.
    pub(crate) fn remote(&self) -> &str {
        &self.remote
    }

    /// Return the connection without its state, while no request is in flight.
    pub(crate) fn into_transport(self) -> Transport {
        self.transport
    }

    /// Return the maximum number of bytes of data in one message.
    #[must_use]
    pub fn data_bytes(&self) -> u32 {
        // As Linux: the largest header of a message with data has 23 bytes.
        self.msize - 24
    }

    /// Return the number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.calls.in_flight()
    }

    /// Queue a request, which is sent at once if many wait, otherwise with the next wait for a reply.
    ///
    /// # Errors
    /// All tags are in use; the connection is gone.
    pub fn begin(&mut self, request: &Request<'_>, value: T) -> Result<()> {
        let tag = self.calls.begin(request, value, &mut self.out);
        tag.map_err(|_| Error::Full)?;
        if self.out.unsent().len() >= BATCH {
            self.send()?;
        }
        Ok(())
    }

    /// Queue a walk along `names` that creates `newfid`.
    ///
    /// # Errors
    /// As [`Connection::begin`]; more than 16 names.
    pub fn begin_walk(&mut self, fid: u32, newfid: u32, names: &[&[u8]], value: T) -> Result<()> {
        let mut bytes = Buffer::new();
        let path = Path::encode(names.iter().copied(), &mut bytes)?;
        self.begin(&Request::Walk { fid, newfid, path }, value)
    }

    /// Wait for the next reply, to any request in flight, and return the result of
    /// `take` for the value of the request and the reply.
    ///
    /// # Errors
    /// The connection is gone, or the server does not answer or not in the protocol.
    pub fn next<R>(
        &mut self,
        take: impl FnOnce(T, std::result::Result<Reply<'_>, Errno>) -> R,
    ) -> Result<R> {
        self.receive_one()?;
        let message = self.frames.take();
        let message = message.ok().flatten().unwrap_or_default();
        match self.calls.finish(message) {
            Ok((value, reply)) => Ok(take(value, reply)),
            Err(malformed) => Err(Error::Protocol(self.remote.clone(), malformed.to_string())),
        }
    }

    /// Send a request while no other is in flight, and return the result of `take` for the reply.
    ///
    /// # Errors
    /// [`Error::InFlight`]; as [`Connection::begin`] and [`Connection::next`].
    pub fn call<R>(
        &mut self,
        request: &Request<'_>,
        value: T,
        take: impl FnOnce(std::result::Result<Reply<'_>, Errno>) -> R,
    ) -> Result<R> {
        if self.in_flight() > 0 {
            return Err(Error::InFlight);
        }
        self.begin(request, value)?;
        self.next(|_, reply| take(reply))
    }

    /// Return the error that the connection is gone.
    fn gone(&self, why: impl ToString) -> Error {
        Error::Gone(self.remote.clone(), why.to_string())
    }

    /// Send requests that wait, until the socket takes no more.
    fn send(&mut self) -> Result<()> {
        self.transport.flush().map_err(|error| self.gone(error))?;
        while !self.out.is_empty() {
            let written = self.transport.write(self.out.unsent());
            match written.map_err(|error| self.gone(error))? {
                Moved::Some(count) => self.out.mark_sent(count),
                Moved::None => return Ok(()),
                Moved::End => return Err(self.gone("its other end was closed")),
            }
        }
        Ok(())
    }

    /// Wait until a whole message has arrived. Send requests meanwhile.
    fn receive_one(&mut self) -> Result<()> {
        loop {
            self.send()?;
            match self.frames.has_message() {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(malformed) => {
                    let text = malformed.to_string();
                    return Err(Error::Protocol(self.remote.clone(), text));
                }
            }
            let moved = self.transport.read(self.frames.space());
            match moved.map_err(|error| self.gone(error))? {
                Moved::Some(count) => self.frames.filled(count),
                Moved::End => return Err(self.gone("its other end was closed")),
                Moved::None => {
                    let sends = !self.out.is_empty() || self.transport.wants_write();
                    let flags = match sends {
                        true => PollFlags::IN | PollFlags::OUT,
                        false => PollFlags::IN,
                    };
                    let now = Instant::now();
                    let deadline = now.checked_add(self.timeout).unwrap_or(now + LONG);
                    if !wait_ready(&self.transport, flags, deadline) {
                        return Err(Error::Silent(self.remote.clone(), self.timeout));
                    }
                }
            }
        }
    }

    /// Wait for a whole message, and take it.
    fn receive(&mut self) -> Result<&[u8]> {
        self.receive_one()?;
        let message = self.frames.take();
        Ok(message.ok().flatten().unwrap_or_default())
    }
}

/// Connect to a server.
fn connect(remote: &Remote, timeout: Duration) -> Result<Transport> {
    let connected = remote.connect(Timeout::after(timeout));
    connected.map_err(|error| match error {
        isthmus_wire::Error::Unreachable(why) => Error::Unreachable(remote.to_string(), why),
        other => other.into(),
    })
}
