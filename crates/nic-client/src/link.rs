//! The links between this process and the daemon, with the state of frames that were moved in part.

use crate::lasting::Lasting;
use crate::pipe::{ReceivingEnd, SendingEnd};
use crate::timed_mutex::TimedMutex;
use isthmus_ring::{Consumer, Producer};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_wire::Transport;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Maximum number of end marks of streams that are stored for a link.
const MAX_MARKS: usize = 1024;

/// A link between this process and the daemon.
#[derive(Debug)]
pub(crate) struct Link {
    pub number: u16,
    /// The half that this process writes, if the link has one.
    pub out: Option<TimedMutex<Sending>>,
    /// The half that this process reads, if the link has one.
    pub into: Option<TimedMutex<Reading>>,
    /// The state with which a lasting link reconnects; None for other links.
    pub lasting: Option<Arc<Lasting>>,
    /// The socket of a link over rings, which shows the daemon that this process is alive.
    _liveness: Option<Transport>,
}

/// The half of a link to the daemon into which this process writes.
#[derive(Debug)]
pub(crate) struct Sending {
    pipe: SendingEnd,
    /// The unwritten rest of a frame, if the call that wrote it timed out.
    rest: Vec<u8>,
    broken: Option<String>,
}

/// The half of a link that this process reads.
#[derive(Debug)]
pub(crate) struct Reading {
    pipe: ReceivingEnd,
    head: [u8; Frame::BYTES],
    head_bytes: usize,
    /// The frame whose data is being read, and the number of its data bytes that were read.
    current: Option<(Frame, u32)>,
    /// The frames that mark the end of streams and have arrived on the link, by stream.
    marks: BTreeMap<u32, Kind>,
    broken: Option<String>,
}

/// The next item on a link, as found by a receiver of one stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// A striping unit (SU) of the receiver's stream, and the number of its bytes that were read.
    Own(Frame, u32),
    /// A striping unit (SU) of another stream, with the number of that stream.
    Other(u32),
    /// The frame that ends the receiver's stream; its kind is `End` or `Cut`.
    Mark(Kind),
    /// No frame has arrived on the link.
    Nothing,
}

impl Link {
    /// Create a link over rings (shared-memory queues). The socket shows each side that the other
    /// one is alive.
    pub fn rings(
        number: u16,
        out: Option<Producer>,
        into: Option<Consumer>,
        liveness: Transport,
    ) -> Self {
        Self {
            number,
            out: out.map(|ring| TimedMutex::new(Sending::new(SendingEnd::Ring(ring)))),
            into: into.map(|ring| TimedMutex::new(Reading::new(ReceivingEnd::Ring(ring)))),
            lasting: None,
            _liveness: Some(liveness),
        }
    }

    /// Create a link over the socket itself. With TLS a thread relays the bytes.
    pub fn socket(number: u16, socket: Transport) -> std::io::Result<Self> {
        let socket = Arc::new(socket.into_socket()?);
        let (out, into) = (
            SendingEnd::Socket(Arc::clone(&socket)),
            ReceivingEnd::Socket(socket),
        );
        Ok(Self {
            number,
            out: Some(TimedMutex::new(Sending::new(out))),
            into: Some(TimedMutex::new(Reading::new(into))),
            lasting: None,
            _liveness: None,
        })
    }

    /// Create a link that reconnects when its socket is cut.
    pub fn lasting(link: Arc<Lasting>) -> Self {
        Self {
            number: link.number,
            out: Some(TimedMutex::new(Sending::new(SendingEnd::Lasting(
                Arc::clone(&link),
            )))),
            into: Some(TimedMutex::new(Reading::new(ReceivingEnd::Lasting(
                Arc::clone(&link),
            )))),
            lasting: Some(link),
            _liveness: None,
        }
    }

    /// Return whether the link is known to be broken.
    pub fn is_lost(&self) -> bool {
        let lost = self.lasting.as_ref().is_some_and(|link| link.is_lost());
        let out = self
            .out
            .as_ref()
            .and_then(|half| half.peek(Sending::is_broken));
        let into = self
            .into
            .as_ref()
            .and_then(|half| half.peek(Reading::is_broken));
        lost || out == Some(true) || into == Some(true)
    }

    /// Wake the calls that wait for this link.
    pub fn notify(&self) {
        if let Some(into) = &self.into {
            into.notify();
        }
        if let Some(out) = &self.out {
            out.notify();
        }
    }
}

impl Sending {
    /// Create the half of a link that this process writes.
    fn new(pipe: SendingEnd) -> Self {
        Self {
            pipe,
            rest: Vec::new(),
            broken: None,
        }
    }

    /// Return whether this half of the link is broken.
    fn is_broken(&self) -> bool {
        self.broken.is_some() || self.pipe.is_closed()
    }

    /// Mark this half of the link as broken for this reason, and return the reason as an error.
    fn broken<T>(&mut self, why: String) -> Result<T, String> {
        self.broken = Some(why.clone());
        Err(why)
    }

    /// Write the rest of an unfinished frame to the link. Returns whether all of it is written.
    pub fn write_rest(&mut self, until: Instant) -> Result<bool, String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        if self.rest.is_empty() {
            return Ok(true);
        }
        // Write from position 1, because these bytes continue a frame; position 0 would start a new
        // one.
        match self.pipe.write(1, &[0], &self.rest, until) {
            Ok(at) => drop(self.rest.drain(..at - 1)),
            Err(why) => return self.broken(why),
        }
        Ok(self.rest.is_empty())
    }

    /// Write the checksums after a frame's data, from byte `at`. Returns the number of bytes of
    /// them that are written.
    pub fn write_sums(&mut self, at: usize, bytes: &[u8], until: Instant) -> Result<usize, String> {
        let more = self.write(1, &[0], &bytes[at..], until)?;
        Ok(at + more - 1)
    }

    /// Write a frame from byte `at`. Returns the number of bytes of it that are written.
    pub fn write(
        &mut self,
        at: usize,
        head: &[u8],
        data: &[u8],
        until: Instant,
    ) -> Result<usize, String> {
        match self.pipe.write(at, head, data, until) {
            Ok(at) => Ok(at),
            Err(why) => self.broken(why),
        }
    }

    /// Store the unwritten part of a frame, which must be written before the next frame.
    pub fn finish_later(&mut self, at: usize, parts: [&[u8]; 3]) {
        self.rest.extend(parts.into_iter().flatten().skip(at));
    }
}

impl Reading {
    /// Create the half of a link that this process reads.
    fn new(pipe: ReceivingEnd) -> Self {
        Self {
            pipe,
            head: [0; Frame::BYTES],
            head_bytes: 0,
            current: None,
            marks: BTreeMap::new(),
            broken: None,
        }
    }

    /// Return whether this half of the link is broken.
    fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Mark this half of the link as broken for this reason, and return the reason as an error.
    fn broken<T>(&mut self, why: String) -> Result<T, String> {
        self.broken = Some(why.clone());
        Err(why)
    }

    /// Return the next item for the receiver of a stream. Data of streams for which `is_abandoned`
    /// returns true is discarded; `ended` is called for each stream whose end arrives on this link.
    pub fn next(
        &mut self,
        stream: u32,
        is_abandoned: &dyn Fn(u32) -> bool,
        ended: &mut dyn FnMut(u32),
        until: Instant,
    ) -> Result<Next, String> {
        loop {
            match self.current {
                Some((frame, done)) if frame.stream.0 == stream => {
                    return Ok(Next::Own(frame, done));
                }
                Some((frame, _)) if is_abandoned(frame.stream.0) => {
                    if !self.discard(until)? {
                        return Ok(Next::Nothing);
                    }
                }
                // The stream has ended: its end mark follows all of its data.
                _ if self.marks.contains_key(&stream) => {
                    return Ok(Next::Mark(self.marks[&stream]));
                }
                Some((frame, _)) => return Ok(Next::Other(frame.stream.0)),
                None => {
                    if !self.head(ended, until)? {
                        return Ok(Next::Nothing);
                    }
                }
            }
        }
    }

    /// Read the header of the next frame from the link. Returns whether the header is complete.
    fn head(&mut self, ended: &mut dyn FnMut(u32), until: Instant) -> Result<bool, String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        match self.pipe.fill(&mut self.head[self.head_bytes..], until) {
            Ok(Some(read)) => self.head_bytes += read,
            Ok(None) => return self.broken("the daemon has closed its other end".into()),
            Err(why) => return self.broken(why),
        }
        if self.head_bytes < Frame::BYTES {
            return Ok(false);
        }
        self.head_bytes = 0;
        let frame = match Frame::decode(&self.head) {
            Ok(frame) => frame,
            Err(error) => return self.broken(error.to_string()),
        };
        match frame.kind {
            Kind::Data | Kind::Void => self.current = Some((frame, 0)),
            Kind::End | Kind::Cut => {
                ended(frame.stream.0);
                if self.marks.len() == MAX_MARKS {
                    // Too many end marks are stored, so drop that of the oldest stream; no receiver
                    // has taken it since it arrived.
                    self.marks.pop_first();
                }
                self.marks.insert(frame.stream.0, frame.kind);
            }
            // Ignore this frame, which is only for ranks that resume their streams themselves.
            Kind::Resume => {}
            Kind::Crc32c | Kind::Internet => {
                let what = format!("a frame {:?} came: those are for ranks to send", frame.kind);
                return self.broken(what);
            }
        }
        Ok(true)
    }

    /// Read data of the current frame into `data`, which has room for the frame from its first
    /// byte. Returns whether the data is complete.
    pub fn data(&mut self, data: &mut [u8], until: Instant) -> Result<bool, String> {
        let Some((frame, done)) = self.current else {
            return Ok(true);
        };
        let rest = data.get_mut(done as usize..frame.bytes as usize);
        let read = self.pipe.fill(rest.unwrap_or(&mut []), until);
        self.advance(read)
    }

    /// Read and discard data of the current frame. Returns whether all of its data was read.
    fn discard(&mut self, until: Instant) -> Result<bool, String> {
        let Some((frame, done)) = self.current else {
            return Ok(true);
        };
        let mut waste = [0; 16 << 10];
        let left = (frame.bytes - done).min(waste.len() as u32) as usize;
        let read = self.pipe.fill(&mut waste[..left], until);
        self.advance(read)?;
        Ok(self.current.is_none() || matches!(self.current, Some((_, now)) if now > done))
    }

    /// Count bytes that were read of the current frame. Returns whether its data is complete.
    fn advance(&mut self, read: Result<Option<usize>, String>) -> Result<bool, String> {
        let read = match read {
            Ok(Some(read)) => read,
            Ok(None) => return self.broken("the daemon closed it in mid-frame".into()),
            Err(why) => return self.broken(why),
        };
        if let Some((frame, done)) = &mut self.current {
            *done += read as u32;
            if *done == frame.bytes {
                self.current = None;
            }
        }
        Ok(self.current.is_none())
    }
}
