//! What is asked of the daemon, as calls.

use crate::error::{Error, Result};
use crate::link::Link;
use crate::lock::locked;
use crate::session::Session;
use crate::stream::{EXPLAINING, Stream, format_of, strange};
use isthmus_nic_protocol::{
    Answer, Checksum, Connection, Direction, Format, Geometry, Overview, Protocol, Request, Spec,
};
use isthmus_wire::Timeout;
use std::sync::Arc;
use std::time::Instant;

/// A connection to open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    /// Where to, as `raw:tcp:127.0.0.1:5000`, `file:/data/image`.
    pub destination: String,
    /// The number that packets carry. Both ends give the same.
    pub channel: u32,
    /// When a packet is done; what is natural for the destination, if it is none.
    pub protocol: Option<Protocol>,
    /// The checksum of data.
    pub checksum: Checksum,
    /// Network memory of the transmit direction that it may have; what the daemon lets a
    /// connection have, if it is none.
    pub share_bytes: Option<u64>,
    /// Network memory that is set aside for what comes; 0 if it only transmits.
    pub window_bytes: u64,
}

impl Opening {
    /// To a destination, with what is natural there.
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

/// A stream of `adus` ADUs of `adu_bytes`, of which each is one TU and one packet, striped over
/// `links`; everything else may be set afterwards.
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
    /// Opens a connection.
    ///
    /// # Returns
    /// Its number.
    ///
    /// # Errors
    /// What the daemon refuses; a session that is over; those of the timeout.
    pub fn open(&self, opening: &Opening, timeout: Timeout<'_>) -> Result<u32> {
        let Opening {
            destination,
            channel,
            protocol,
            checksum,
            share_bytes,
            window_bytes,
        } = opening.clone();
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
            other => Err(strange("a connection", &other)),
        }
    }

    /// Closes a connection, once its streams have ended. If it goes to a file, that is there under
    /// its name when this returns.
    ///
    /// # Errors
    /// A file that was not kept, as [`Error::Refused`] of kind `failed`; otherwise as
    /// [`Session::open`].
    pub fn close(&self, connection: u32, timeout: Timeout<'_>) -> Result<()> {
        self.done(Request::Close { connection }, timeout)
    }

    /// Why the connection to a file is not closed yet, as the end of a sentence.
    pub(crate) fn why_not_closed(&self, connection: u32) -> String {
        match self.connection(connection, Timeout::after(EXPLAINING)) {
            Ok(status) if status.streams > 0 => format!(
                "; connection {connection} has {} streams that have not ended: finish or cancel them",
                status.streams
            ),
            Ok(_) => format!("; the file of connection {connection} waits for its disk"),
            Err(error) => format!("; why is not known ({error})"),
        }
    }

    /// Registers streams, all or none; they may name each other.
    ///
    /// # Errors
    /// A format that cannot be; otherwise as [`Session::open`].
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
            other => Err(strange("numbers of streams", &other)),
        }
    }

    /// Registers one stream.
    ///
    /// # Errors
    /// As [`Session::submit`].
    pub fn stream(&self, spec: Spec, timeout: Timeout<'_>) -> Result<Stream> {
        let mut streams = self.submit(std::slice::from_ref(&spec), timeout)?;
        streams
            .pop()
            .ok_or_else(|| Error::Garbled("the daemon made no stream".into()))
    }

    /// A stream that another process of the application has registered, for the links of this one:
    /// its number, and what was submitted.
    ///
    /// # Errors
    /// A format that cannot be; a number that no stream of the application has; those of the daemon
    /// and of the timeout.
    pub fn adopt(&self, number: u32, spec: &Spec, timeout: Timeout<'_>) -> Result<Stream> {
        self.here()?;
        let format = format_of(spec).check();
        format.map_err(|error| Error::Misfit(error.to_string()))?;
        // Whether there is one: who drops a stream that is received cancels it.
        self.request(Request::Stream { stream: number }, timeout)?;
        Ok(Stream::new(Arc::clone(&self.core), number, spec))
    }

    /// Where a connection is.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn connection(&self, connection: u32, timeout: Timeout<'_>) -> Result<Connection> {
        match self.request(Request::Connection { connection }, timeout)? {
            Answer::ConnectionStatus { connection } => Ok(connection),
            other => Err(strange("a connection's status", &other)),
        }
    }

    /// All that there is of the application or, with an operator's token, of all.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn overview(&self, all: bool, timeout: Timeout<'_>) -> Result<Overview> {
        match self.request(Request::Overview { all }, timeout)? {
            Answer::Overview { overview } => Ok(overview),
            other => Err(strange("an overview", &other)),
        }
    }

    /// Sets a frame buffer's geometry, and clears it.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn geometry(&self, screen: &str, form: Geometry, timeout: Timeout<'_>) -> Result<()> {
        let request = Request::Geometry {
            screen: screen.to_owned(),
            geometry: form,
        };
        self.done(request, timeout)
    }

    /// Resets a frame buffer.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn reset(&self, screen: &str, timeout: Timeout<'_>) -> Result<()> {
        let screen = screen.to_owned();
        self.done(Request::Reset { screen }, timeout)
    }

    /// Gives a link of this process up: its end is closed, of one that lasts as soon as the daemon
    /// knows why. [`Session::link`] waits for that before it makes another one of the number.
    pub fn unlink(&self, number: u16) {
        if self.here().is_err() {
            return;
        }
        let link = locked(&self.core.links).remove(&number);
        self.given_up(number, link);
    }

    /// A link was taken away from those of this process.
    pub(crate) fn given_up(&self, number: u16, link: Option<Arc<Link>>) {
        locked(&self.core.registry).link_gone(number);
        if link.is_some() {
            locked(&self.let_go).insert(number, Instant::now());
        }
        if let Some(link) = link
            && let Some(lasting) = link.lasting.clone()
        {
            self.core.give_up(&lasting, Some(link));
        }
    }

    fn done(&self, request: Request, timeout: Timeout<'_>) -> Result<()> {
        match self.request(request, timeout)? {
            Answer::Done => Ok(()),
            other => Err(strange("that something is done", &other)),
        }
    }
}
