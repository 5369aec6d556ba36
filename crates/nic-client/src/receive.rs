//! Receiving: ADUs put together from the SUs of this process's links.

use crate::error::{Error, Result, named};
use crate::link::{Link, Next};
use crate::lock::locked;
use crate::stream::{Place, Stream};
use isthmus_nic_protocol::Direction;
use isthmus_stream::{Su, Tu};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_wire::Timeout;
use std::ops::Range;
use std::sync::Arc;

/// What came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// An ADU.
    Adu {
        /// Its number.
        adu: u64,
        /// Bytes of it that did not come, and are 0: none in an ADU that is good.
        missing: Vec<Range<u64>>,
    },
    /// The stream is done: there are no more.
    End,
}

/// How an SU was got.
enum Got {
    Good,
    Void,
    Mark(Kind),
}

impl Stream {
    /// Receives the next ADU; `adu` has its length. What comes over links of other processes is
    /// left as it is.
    ///
    /// # Errors
    /// - [`Error::Misfit`]: a stream that transmits, another length.
    /// - [`Error::TimedOut`]: nothing of it came, and it can be waited for again. If a part came,
    ///   the stream is cancelled and later calls get [`Error::Stream`].
    /// - [`Error::Stream`]: it failed or was cancelled.
    /// - [`Error::Link`], [`Error::Gone`], [`Error::Refused`].
    pub fn recv(&self, adu: &mut [u8], timeout: Timeout<'_>) -> Result<Received> {
        let mut place = self.turn(Direction::Receive, false, timeout)?;
        let bytes = adu.len() as u64;
        let tus = self.format.tus(bytes);
        self.recv_as(&mut place, (bytes, tus), (false, adu), timeout)
    }

    /// Receives of the next ADU, which has `adu_bytes`, the SUs that come over the links of this
    /// process, one behind another; ranges of what is missing are counted in the ADU.
    ///
    /// # Errors
    /// As [`Stream::recv`].
    pub fn recv_own(
        &self,
        adu_bytes: u64,
        own: &mut [u8],
        timeout: Timeout<'_>,
    ) -> Result<Received> {
        let mut place = self.turn(Direction::Receive, false, timeout)?;
        self.fits_own(adu_bytes, own.len())?;
        let tus = self.format.tus(adu_bytes);
        self.recv_as(&mut place, (adu_bytes, tus), (true, own), timeout)
    }

    /// Receives the next bytes of those that come over the links of this process, of a stream whose
    /// ADUs all have the same length: some TUs of an ADU, or of several.
    ///
    /// # Returns
    /// What is missing, by ADU.
    ///
    /// # Errors
    /// [`Error::Misfit`] also if they end within a TU, [`Error::Stream`] also if the stream is done
    /// before; otherwise as [`Stream::recv`].
    pub fn recv_run(&self, own: &mut [u8], timeout: Timeout<'_>) -> Result<Vec<(u64, Range<u64>)>> {
        let mut place = self.turn(Direction::Receive, true, timeout)?;
        self.fits_run(&place, own.len())?;
        let mut left = own;
        let mut all = Vec::new();
        while !left.is_empty() {
            let (adu_bytes, tus, used) = self.run(&place, left.len())?;
            let (now, rest) = left.split_at_mut(used);
            match self.recv_as(&mut place, (adu_bytes, tus), (true, now), timeout)? {
                Received::Adu { adu, missing } => {
                    all.extend(missing.into_iter().map(|range| (adu, range)));
                }
                Received::End => {
                    let why = format!("it is done after {} ADUs, more is waited for", place.adu);
                    return Err(Error::Stream(self.number, why));
                }
            }
            left = rest;
        }
        Ok(all)
    }

    /// Receives the next ADU from where it is up to before a TU.
    fn recv_as(
        &self,
        place: &mut Place,
        (adu_bytes, tus): (u64, u64),
        (packed, bytes): (bool, &mut [u8]),
        timeout: Timeout<'_>,
    ) -> Result<Received> {
        let over = self.adus().is_some_and(|adus| place.adu >= adus);
        if !over {
            self.fits(place.adu, adu_bytes)?;
        }
        let links = self.links()?;
        let mut began = place.tu > 0;
        let what = (place.adu, adu_bytes, place.tu..tus);
        let got = self.read(&links, what, (packed, bytes), &mut began, timeout);
        match got {
            Ok(Received::End) => Ok(Received::End),
            Ok(received) => {
                place.advance(tus, self.format.tus(adu_bytes));
                Ok(received)
            }
            Err(error) => Err(self.not_received(place, error, began, timeout)),
        }
    }

    fn not_received(
        &self,
        place: &mut Place,
        error: Error,
        began: bool,
        timeout: Timeout<'_>,
    ) -> Error {
        let error = named(error, || {
            let (number, adu, given) = (self.number, place.adu, timeout.given());
            let came = if began { "nothing more" } else { "nothing" };
            format!(
                "stream {number}: {came} of ADU {adu} came for {given}{}",
                self.explained()
            )
        });
        if began {
            self.leave(place, &error);
            locked(&self.core.registry).give_up(self.number);
        }
        error
    }

    fn read(
        &self,
        links: &[Arc<Link>],
        (adu, adu_bytes, tus): (u64, u64, Range<u64>),
        (packed, bytes): (bool, &mut [u8]),
        began: &mut bool,
        timeout: Timeout<'_>,
    ) -> Result<Received> {
        let mut next = 0;
        let mut missing: Vec<Range<u64>> = Vec::new();
        for index in tus {
            let Some(tu) = self.format.tu(adu, adu_bytes, index) else {
                break;
            };
            for su in self.format.sus(tu.bytes) {
                let Some(link) = links.iter().find(|link| link.number == su.link.0) else {
                    continue;
                };
                let first = tu.offset + su.offset;
                let at = if packed { next } else { first as usize };
                next += su.bytes as usize;
                let room = &mut bytes[at..at + su.bytes as usize];
                match self.read_su(link, (&tu, &su), room, began, timeout.restarted())? {
                    Got::Good => {}
                    Got::Void => void(&mut missing, first..first + su.bytes),
                    Got::Mark(Kind::End) if !*began => return Ok(Received::End),
                    Got::Mark(kind) => return Err(self.marked(kind, timeout)),
                }
            }
        }
        Ok(Received::Adu { adu, missing })
    }

    /// The error of a stream that ended before its ADU did.
    fn marked(&self, kind: Kind, timeout: Timeout<'_>) -> Error {
        if kind == Kind::Cut
            && let Err(error) = self.wait(timeout)
        {
            return error;
        }
        Error::Stream(self.number, "it ended in the middle of an ADU".into())
    }

    fn read_su(
        &self,
        link: &Link,
        (tu, su): (&Tu, &Su),
        room: &mut [u8],
        began: &mut bool,
        timeout: Timeout<'_>,
    ) -> Result<Got> {
        let Some(into) = &link.into else {
            let why = "it has no ring to this process: its `to_rank_bytes` were 0";
            return Err(Error::Link(link.number, why.to_owned()));
        };
        let refused = |why: String| self.link_error(link.number, &why);
        let core = &self.core;
        let given_up = |stream| locked(&core.registry).is_given_up(stream);
        let mut ended = |stream| locked(&core.registry).ended_on(stream, link.number);
        let mut in_front = None;
        loop {
            let before = in_front.take();
            let in_vain = |error: Error| {
                named(error, || match before {
                    Some(other) => format!(
                        "link {}: data of stream {other} is in front of that of stream {}: \
                         receive it, or give each stream links of its own",
                        link.number, self.number
                    ),
                    None => String::new(),
                })
            };
            let until = timeout.slice().map_err(|expired| in_vain(expired.into()))?;
            let mut taken = into.take(timeout).map_err(in_vain)?;
            let next = taken.next(self.number, &given_up, &mut ended, until);
            match next.map_err(refused)? {
                Next::Own(frame, _) => {
                    *began = true;
                    let good = expected(&frame, self.number, tu, su).map_err(refused)?;
                    if taken.data(room, until).map_err(refused)? {
                        return Ok(if good { Got::Good } else { Got::Void });
                    }
                }
                Next::Mark(kind) => return Ok(Got::Mark(kind)),
                Next::Other(stream) => {
                    in_front = Some(stream);
                    drop(taken);
                    match into.pause(timeout) {
                        // Told above, with what is in front.
                        Ok(()) | Err(Error::TimedOut(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                Next::Nothing => {}
            }
            if let Some(gone) = core.gone() {
                return Err(gone);
            }
        }
    }
}

/// Whether a frame's data is good; an error if it is not the SU that is next.
fn expected(frame: &Frame, stream: u32, tu: &Tu, su: &Su) -> std::result::Result<bool, String> {
    let id = isthmus_stream::StreamId(stream);
    let wanted = Frame::su(frame.kind, id, tu, su);
    match *frame == wanted {
        true => Ok(frame.kind == Kind::Data),
        false => Err(format!(
            "{} bytes from byte {} of ADU {} of stream {stream} came where {} bytes from byte {} \
             of ADU {} were next",
            frame.bytes, frame.offset, frame.adu, wanted.bytes, wanted.offset, wanted.adu
        )),
    }
}

/// Adds a range to those that are missing.
fn void(missing: &mut Vec<Range<u64>>, range: Range<u64>) {
    match missing.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => missing.push(range),
    }
}
