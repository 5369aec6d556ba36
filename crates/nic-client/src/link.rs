//! Links of this process: their ends, and what they were in the middle of.

use crate::half::Half;
use crate::lasting::Lasting;
use crate::pipe::{Into, Out};
use isthmus_ring::{Consumer, Producer};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_wire::Transport;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// Marks that are kept for streams that nobody asks for, at most.
const MARKS_MOST: usize = 1024;

/// A link of this process.
#[derive(Debug)]
pub(crate) struct Link {
    pub number: u16,
    /// What is written, if there is a way out.
    pub out: Option<Half<Sending>>,
    /// What is read, if there is a way in.
    pub into: Option<Half<Reading>>,
    /// What makes it last, if it does.
    pub lasting: Option<Arc<Lasting>>,
    /// What the daemon sees this process by; held as long as the link is.
    _alive: Option<Transport>,
}

/// The half that is written.
#[derive(Debug)]
pub(crate) struct Sending {
    pipe: Out,
    /// The rest of a frame that somebody had no timeout to write.
    rest: Vec<u8>,
    broken: Option<String>,
}

/// The half that is read.
#[derive(Debug)]
pub(crate) struct Reading {
    pipe: Into,
    head: [u8; Frame::BYTES],
    got: usize,
    /// A frame of which data is to come, and how much of that was taken.
    front: Option<(Frame, u32)>,
    /// How streams ended here.
    marks: BTreeMap<u32, Kind>,
    broken: Option<String>,
}

/// What is next on a link, as one stream sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Its own SU, of which so many bytes were taken.
    Own(Frame, u32),
    /// Something of another stream.
    Other(u32),
    /// It has ended here: `End` or `Cut`.
    Mark(Kind),
    /// Nothing yet.
    Nothing,
}

impl Link {
    /// A link over rings, and the socket that both sides see one another by.
    pub fn rings(
        number: u16,
        out: Option<Producer>,
        into: Option<Consumer>,
        alive: Transport,
    ) -> Self {
        Self {
            number,
            out: out.map(|ring| Half::new(Sending::new(Out::Ring(ring)))),
            into: into.map(|ring| Half::new(Reading::new(Into::Ring(ring)))),
            lasting: None,
            _alive: Some(alive),
        }
    }

    /// A link over the socket itself; one with TLS goes through a thread.
    pub fn socket(number: u16, socket: Transport) -> std::io::Result<Self> {
        let socket = Arc::new(socket.into_socket()?);
        let (out, into) = (Out::Socket(Arc::clone(&socket)), Into::Socket(socket));
        Ok(Self {
            number,
            out: Some(Half::new(Sending::new(out))),
            into: Some(Half::new(Reading::new(into))),
            lasting: None,
            _alive: None,
        })
    }

    /// A link that is made anew when its socket is cut.
    pub fn lasting(link: Arc<Lasting>) -> Self {
        Self {
            number: link.number,
            out: Some(Half::new(Sending::new(Out::Lasting(Arc::clone(&link))))),
            into: Some(Half::new(Reading::new(Into::Lasting(Arc::clone(&link))))),
            lasting: Some(link),
            _alive: None,
        }
    }

    /// Whether it is known that nothing goes over it any more.
    pub fn is_lost(&self) -> bool {
        let lost = self.lasting.as_ref().is_some_and(|link| link.is_lost());
        let out = self
            .out
            .as_ref()
            .and_then(|half| half.look(Sending::is_broken));
        let into = self
            .into
            .as_ref()
            .and_then(|half| half.look(Reading::is_broken));
        lost || out == Some(true) || into == Some(true)
    }

    /// Wakes who waits for this link.
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
    fn new(pipe: Out) -> Self {
        Self {
            pipe,
            rest: Vec::new(),
            broken: None,
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    fn broken<T>(&mut self, why: String) -> Result<T, String> {
        self.broken = Some(why.clone());
        Err(why)
    }

    /// Writes what somebody left of a frame; whether all of it is written.
    pub fn clear(&mut self, until: Instant) -> Result<bool, String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        if self.rest.is_empty() {
            return Ok(true);
        }
        // Not as the beginning of a frame: bytes of one.
        match self.pipe.frame(1, &[0], &self.rest, until) {
            Ok(at) => drop(self.rest.drain(..at - 1)),
            Err(why) => return self.broken(why),
        }
        Ok(self.rest.is_empty())
    }

    /// Writes what is behind the data of a frame, from byte `at` on; how much of it is written now.
    pub fn behind(&mut self, at: usize, bytes: &[u8], until: Instant) -> Result<usize, String> {
        let more = self.frame(1, &[0], &bytes[at..], until)?;
        Ok(at + more - 1)
    }

    /// Writes a frame from byte `at` on; how much of it is written now.
    pub fn frame(
        &mut self,
        at: usize,
        head: &[u8],
        data: &[u8],
        until: Instant,
    ) -> Result<usize, String> {
        match self.pipe.frame(at, head, data, until) {
            Ok(at) => Ok(at),
            Err(why) => self.broken(why),
        }
    }

    /// Keeps what is not written of a frame: the link is in step again once that is.
    pub fn leave(&mut self, at: usize, parts: [&[u8]; 3]) {
        self.rest.extend(parts.into_iter().flatten().skip(at));
    }
}

impl Reading {
    fn new(pipe: Into) -> Self {
        Self {
            pipe,
            head: [0; Frame::BYTES],
            got: 0,
            front: None,
            marks: BTreeMap::new(),
            broken: None,
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    fn broken<T>(&mut self, why: String) -> Result<T, String> {
        self.broken = Some(why.clone());
        Err(why)
    }

    /// What is next, for this stream. `given_up` says of which streams data is passed by; `ended`
    /// is told of those that end here.
    pub fn next(
        &mut self,
        stream: u32,
        given_up: &dyn Fn(u32) -> bool,
        ended: &mut dyn FnMut(u32),
        until: Instant,
    ) -> Result<Next, String> {
        loop {
            match self.front {
                Some((frame, done)) if frame.stream.0 == stream => {
                    return Ok(Next::Own(frame, done));
                }
                Some((frame, _)) if given_up(frame.stream.0) => {
                    if !self.pass_by(until)? {
                        return Ok(Next::Nothing);
                    }
                }
                // Its own marks come behind all of its data.
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

    /// Reads a header; whether it is there.
    fn head(&mut self, ended: &mut dyn FnMut(u32), until: Instant) -> Result<bool, String> {
        if let Some(why) = &self.broken {
            return Err(why.clone());
        }
        match self.pipe.fill(&mut self.head[self.got..], until) {
            Ok(Some(read)) => self.got += read,
            Ok(None) => return self.broken("the daemon has closed its other end".into()),
            Err(why) => return self.broken(why),
        }
        if self.got < Frame::BYTES {
            return Ok(false);
        }
        self.got = 0;
        let frame = match Frame::decode(&self.head) {
            Ok(frame) => frame,
            Err(error) => return self.broken(error.to_string()),
        };
        match frame.kind {
            Kind::Data | Kind::Void => self.front = Some((frame, 0)),
            Kind::End | Kind::Cut => {
                ended(frame.stream.0);
                if self.marks.len() == MARKS_MOST {
                    // Of a stream that nobody has asked for in all that time.
                    self.marks.pop_first();
                }
                self.marks.insert(frame.stream.0, frame.kind);
            }
            // For ranks that keep what they send themselves.
            Kind::Resume => {}
            Kind::Crc32c | Kind::Internet => {
                let what = format!("a frame {:?} came: those are for ranks to send", frame.kind);
                return self.broken(what);
            }
        }
        Ok(true)
    }

    /// Reads data of the frame in front, which goes to `data` from its first byte on; whether all
    /// of it is there now.
    pub fn data(&mut self, data: &mut [u8], until: Instant) -> Result<bool, String> {
        let Some((frame, done)) = self.front else {
            return Ok(true);
        };
        let rest = data.get_mut(done as usize..frame.bytes as usize);
        let read = self.pipe.fill(rest.unwrap_or(&mut []), until);
        self.took(read)
    }

    fn pass_by(&mut self, until: Instant) -> Result<bool, String> {
        let Some((frame, done)) = self.front else {
            return Ok(true);
        };
        let mut waste = [0; 16 << 10];
        let left = (frame.bytes - done).min(waste.len() as u32) as usize;
        let read = self.pipe.fill(&mut waste[..left], until);
        self.took(read)?;
        Ok(self.front.is_none() || matches!(self.front, Some((_, now)) if now > done))
    }

    fn took(&mut self, read: Result<Option<usize>, String>) -> Result<bool, String> {
        let read = match read {
            Ok(Some(read)) => read,
            Ok(None) => return self.broken("the daemon closed it in mid-frame".into()),
            Err(why) => return self.broken(why),
        };
        if let Some((frame, done)) = &mut self.front {
            *done += read as u32;
            if *done == frame.bytes {
                self.front = None;
            }
        }
        Ok(self.front.is_none())
    }
}
