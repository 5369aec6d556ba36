//! Requests to the daemon as methods of a session.

use crate::error::{Error, Result};
use crate::link::Link;
use crate::lock::lock;
use crate::session::Session;
use crate::stream::{STATUS_TIMEOUT, Stream, format_of, unexpected};
use isthmus_nic_protocol::{
    Answer, Checksum, Connection, Direction, Format, Overview, Protocol, Request, Spec,
};
use isthmus_wire::Timeout;
use std::sync::Arc;
use std::time::Instant;

/// The options with which a session opens a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionOptions {
    /// The destination, for example `raw:tcp:127.0.0.1:5000` or `file:/data/image`.
    pub destination: String,
    /// The channel number in the packets of the connection, the same at both ends.
    pub channel: u32,
    /// The protocol of the connection, which decides when a packet is done; None selects the
    /// default of the destination.
    pub protocol: Option<Protocol>,
    /// The kind of checksum of the connection's data.
    pub checksum: Checksum,
    /// Maximum network memory of the connection in the transmit direction, in bytes; None selects
    /// the daemon's limit of a connection.
    pub share_bytes: Option<u64>,
    /// Network memory of the connection reserved for received data, in bytes; 0 if the connection
    /// only transmits.
    pub window_bytes: u64,
}

impl ConnectionOptions {
    /// Create the options of a connection to `destination`, all others with their default values.
    #[must_use]
    pub fn to(destination: &str) -> Self {
        Self {
            destination: destination.to_owned(),
            channel: 0,
            protocol: None,
            checksum: Checksum::default(),
            share_bytes: None,
            window_bytes: 0,
        }
    }
}

/// Return the specification of a stream of `adus` application data units (ADUs) of `adu_bytes`,
/// each of which is one transfer unit (TU) and one packet, striped over `links`. The caller may
/// change all other fields afterwards.
#[must_use]
pub fn spec(
    connection: u32,
    direction: Direction,
    adu_bytes: u64,
    links: &[u16],
    adus: u64,
) -> Spec {
    Spec {
        connection,
        direction,
        format: Format {
            adu_bytes: Some(adu_bytes),
            tu_bytes: adu_bytes,
            su_order: links.to_vec(),
            granule_bytes: 1,
            packet_bytes: adu_bytes,
        },
        adus: Some(adus),
        quantum: 1,
        permanent: false,
        after: Vec::new(),
        in_step_with: Vec::new(),
        moved_is_finished: false,
        cut_through: false,
        rank_sums: Checksum::None,
    }
}

impl Session {
    /// Ask the daemon to open a connection to a destination, such as a file or a socket.
    ///
    /// # Returns
    /// The number of the connection.
    ///
    /// # Errors
    /// A refusal of the daemon; a session that is over; an expired timeout.
    pub fn open(&self, options: &ConnectionOptions, timeout: Timeout<'_>) -> Result<u32> {
        let ConnectionOptions {
            destination,
            channel,
            protocol,
            checksum,
            share_bytes,
            window_bytes,
        } = options.clone();
        let request = Request::Open {
            destination,
            channel,
            protocol,
            checksum,
            share_bytes,
            window_bytes,
        };
        match self.request(request, timeout)? {
            Answer::Connection { connection } => Ok(connection),
            other => Err(unexpected("a connection", &other)),
        }
    }

    /// Close a connection whose streams have ended. If it writes a file, the file is complete and
    /// has its final name when this returns.
    ///
    /// # Errors
    /// A file that was discarded, as [`Error::Refused`] of kind `failed`; otherwise as
    /// [`Session::open`].
    pub fn close(&self, connection: u32, timeout: Timeout<'_>) -> Result<()> {
        self.done(Request::Close { connection }, timeout)
    }

    /// Return text to append to an error message: the reason why a connection to a file is not closed yet.
    pub(crate) fn why_not_closed(&self, connection: u32) -> String {
        match self.connection(connection, Timeout::after(STATUS_TIMEOUT)) {
            Ok(status) if status.streams > 0 => format!(
                "; connection {connection} has {} streams that have not ended: finish or cancel them",
                status.streams
            ),
            Ok(_) => format!("; the file of connection {connection} waits for its disk"),
            Err(error) => format!("; why is not known ({error})"),
        }
    }

    /// Register streams with the daemon, either all of them or none. The specification of one stream may
    /// refer to another.
    ///
    /// # Errors
    /// An invalid format; otherwise as [`Session::open`].
    pub fn submit(&self, specs: &[Spec], timeout: Timeout<'_>) -> Result<Vec<Stream>> {
        for (number, spec) in specs.iter().enumerate() {
            format_of(spec)
                .check()
                .map_err(|error| Error::Misfit(format!("stream {number} of these: {error}")))?;
        }
        let streams = specs.to_vec();
        match self.request(Request::Submit { streams }, timeout)? {
            Answer::Streams { streams } if streams.len() == specs.len() => {
                let both = streams.iter().zip(specs);
                Ok(both
                    .map(|(number, spec)| Stream::new(Arc::clone(&self.core), *number, spec))
                    .collect())
            }
            other => Err(unexpected("numbers of streams", &other)),
        }
    }

    /// Register one stream.
    ///
    /// # Errors
    /// As [`Session::submit`].
    pub fn stream(&self, spec: Spec, timeout: Timeout<'_>) -> Result<Stream> {
        let mut streams = self.submit(std::slice::from_ref(&spec), timeout)?;
        streams
            .pop()
            .ok_or_else(|| Error::Garbled("the daemon made no stream".into()))
    }

    /// Return a stream that another process of the application has registered, for the links of
    /// this process. `number` and `spec` are those of its registration.
    ///
    /// # Errors
    /// An invalid format; a number that no stream of the application has; a refusal of the daemon;
    /// an expired timeout.
    pub fn adopt(&self, number: u32, spec: &Spec, timeout: Timeout<'_>) -> Result<Stream> {
        self.check_process()?;
        let format = format_of(spec).check();
        format.map_err(|error| Error::Misfit(error.to_string()))?;
        // Check that the stream exists before creating the object: dropping the object would cancel any
        // stream with this number.
        self.request(Request::Stream { stream: number }, timeout)?;
        Ok(Stream::new(Arc::clone(&self.core), number, spec))
    }

    /// Return the status of a connection.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn connection(&self, connection: u32, timeout: Timeout<'_>) -> Result<Connection> {
        match self.request(Request::Connection { connection }, timeout)? {
            Answer::ConnectionStatus { connection } => Ok(connection),
            other => Err(unexpected("a connection's status", &other)),
        }
    }

    /// Return the status of everything that belongs to the application or, with an operator's
    /// token, to all applications.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn overview(&self, all: bool, timeout: Timeout<'_>) -> Result<Overview> {
        match self.request(Request::Overview { all }, timeout)? {
            Answer::Overview { overview } => Ok(overview),
            other => Err(unexpected("an overview", &other)),
        }
    }

    /// Release a link of this process. Its end is closed at once or, for a link that reconnects, when
    /// the daemon has confirmed the release. [`Session::link`] waits for that confirmation before it
    /// creates another link with the number.
    pub fn unlink(&self, number: u16) {
        if self.check_process().is_err() {
            return;
        }
        let link = lock(&self.core.links).remove(&number);
        self.finish_release(number, link);
    }

    /// Finish the release of link `number`, which is no longer in the list of this process's links: record the time of
    /// the release, and end a link that would otherwise reconnect.
    pub(crate) fn finish_release(&self, number: u16, link: Option<Arc<Link>>) {
        lock(&self.core.registry).link_gone(number);
        if link.is_some() {
            lock(&self.release).insert(number, Instant::now());
        }
        if let Some(link) = link
            && let Some(lasting) = link.lasting.clone()
        {
            self.core.release(&lasting, Some(link));
        }
    }

    /// Send a request whose answer has no value, and wait for the answer.
    fn done(&self, request: Request, timeout: Timeout<'_>) -> Result<()> {
        match self.request(request, timeout)? {
            Answer::Done => Ok(()),
            other => Err(unexpected("that something is done", &other)),
        }
    }
}
