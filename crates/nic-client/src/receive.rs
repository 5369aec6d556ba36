//! Receives application data units (ADUs): joins them from the striping units (SUs) that arrive
//! over the links of this process.

use crate::error::{Error, Result, describe};
use crate::link::{Link, Next};
use crate::lock::lock;
use crate::stream::{Position, Stream};
use isthmus_nic_protocol::Direction;
use isthmus_stream::{Su, Tu};
use isthmus_stream_net::frame::{Frame, Kind};
use isthmus_wire::Timeout;
use std::ops::Range;
use std::sync::Arc;

/// The result of receiving an application data unit (ADU) of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Received {
    /// An application data unit (ADU) was received.
    Adu {
        /// The number of the application data unit (ADU).
        adu: u64,
        /// Missing byte ranges of the application data unit (ADU), which are filled with 0; empty
        /// for a complete ADU.
        missing: Vec<Range<u64>>,
    },
    /// The stream is done: there are no more application data units (ADUs).
    End,
}

/// The outcome of reading a striping unit (SU) from a link.
enum SuResult {
    Good,
    Void,
    Mark(Kind),
}

impl Stream {
    /// Receive the next application data unit (ADU) into `adu`, which must have the length of the
    /// ADU. Ranges that arrive over links of other processes are left unchanged.
    ///
    /// # Errors
    /// - [`Error::Misfit`]: a stream that transmits, a wrong length.
    /// - [`Error::TimedOut`]: if none of it arrived, the caller may wait again. If a part arrived,
    ///   the stream is cancelled and later calls return [`Error::Stream`].
    /// - [`Error::Stream`]: it failed or was cancelled.
    /// - [`Error::Link`], [`Error::Gone`], [`Error::Refused`].
    pub fn recv(&self, adu: &mut [u8], timeout: Timeout<'_>) -> Result<Received> {
        let mut pos = self.lock_position(Direction::Receive, false, timeout)?;
        let bytes = adu.len() as u64;
        let tus = self.format.tus(bytes);
        self.recv_as(&mut pos, (bytes, tus), (false, adu), timeout)
    }

    /// Receive those striping units (SUs) of the next application data unit (ADU) of `adu_bytes`
    /// that arrive over the links of this process, concatenated in `own`. Missing ranges are
    /// offsets in the ADU.
    ///
    /// # Errors
    /// As [`Stream::recv`].
    pub fn recv_own(
        &self,
        adu_bytes: u64,
        own: &mut [u8],
        timeout: Timeout<'_>,
    ) -> Result<Received> {
        let mut pos = self.lock_position(Direction::Receive, false, timeout)?;
        self.check_own_bytes(adu_bytes, own.len())?;
        let tus = self.format.tus(adu_bytes);
        self.recv_as(&mut pos, (adu_bytes, tus), (true, own), timeout)
    }

    /// Receive the next bytes that arrive over the links of this process, of a stream whose
    /// application data units (ADUs) all have the same length: some transfer units (TUs) of an ADU,
    /// or of several.
    ///
    /// # Returns
    /// The missing byte ranges, each with the number of its ADU.
    ///
    /// # Errors
    /// [`Error::Misfit`] also if the bytes end within a TU, [`Error::Stream`] also if the stream is
    /// done before; otherwise as [`Stream::recv`].
    pub fn recv_run(&self, own: &mut [u8], timeout: Timeout<'_>) -> Result<Vec<(u64, Range<u64>)>> {
        let mut pos = self.lock_position(Direction::Receive, true, timeout)?;
        self.check_run(&pos, own.len())?;
        let mut left = own;
        let mut all = Vec::new();
        while !left.is_empty() {
            let (adu_bytes, tus, used) = self.next_run(&pos, left.len())?;
            let (now, rest) = left.split_at_mut(used);
            match self.recv_as(&mut pos, (adu_bytes, tus), (true, now), timeout)? {
                Received::Adu { adu, missing } => {
                    all.extend(missing.into_iter().map(|range| (adu, range)));
                }
                Received::End => {
                    let why = format!("it is done after {} ADUs, more is waited for", pos.adu);
                    return Err(Error::Stream(self.number, why));
                }
            }
            left = rest;
        }
        Ok(all)
    }

    /// Receive the data of the next application data unit (ADU) from the current position up to
    /// transfer unit (TU) number `tus`.
    fn recv_as(
        &self,
        pos: &mut Position,
        (adu_bytes, tus): (u64, u64),
        (packed, bytes): (bool, &mut [u8]),
        timeout: Timeout<'_>,
    ) -> Result<Received> {
        let over = self.adus().is_some_and(|adus| pos.adu >= adus);
        if !over {
            self.check_next(pos.adu, adu_bytes)?;
        }
        let links = self.links()?;
        let mut started = pos.tu > 0;
        let what = (pos.adu, adu_bytes, pos.tu..tus);
        let got = self.read(&links, what, (packed, bytes), &mut started, timeout);
        match got {
            Ok(Received::End) => Ok(Received::End),
            Ok(received) => {
                pos.advance(tus, self.format.tus(adu_bytes));
                Ok(received)
            }
            Err(error) => Err(self.not_received(pos, error, started, timeout)),
        }
    }

    /// Return the error of a receive that did not get all of an application data unit (ADU).
    fn not_received(
        &self,
        pos: &mut Position,
        error: Error,
        started: bool,
        timeout: Timeout<'_>,
    ) -> Error {
        let error = describe(error, || {
            let (number, adu, given) = (self.number, pos.adu, timeout.given());
            let came = if started { "nothing more" } else { "nothing" };
            format!(
                "stream {number}: {came} of ADU {adu} came for {given}{}",
                self.explanation()
            )
        });
        if started {
            self.abort(pos, &error);
            lock(&self.core.registry).abandon(self.number);
        }
        error
    }

    /// Read the striping units (SUs) of transfer units (TUs) up to `tus` from the links.
    fn read(
        &self,
        links: &[Arc<Link>],
        (adu, adu_bytes, tus): (u64, u64, Range<u64>),
        (packed, bytes): (bool, &mut [u8]),
        started: &mut bool,
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
                match self.read_su(link, (&tu, &su), room, started, timeout.restarted())? {
                    SuResult::Good => {}
                    SuResult::Void => add_missing(&mut missing, first..first + su.bytes),
                    SuResult::Mark(Kind::End) if !*started => return Ok(Received::End),
                    SuResult::Mark(kind) => return Err(self.end_error(kind, timeout)),
                }
            }
        }
        Ok(Received::Adu { adu, missing })
    }

    /// Return the error of a stream that ended within an application data unit (ADU), with a frame
    /// of this kind.
    fn end_error(&self, kind: Kind, timeout: Timeout<'_>) -> Error {
        if kind == Kind::Cut
            && let Err(error) = self.wait(timeout)
        {
            return error;
        }
        Error::Stream(self.number, "it ended in the middle of an ADU".into())
    }

    /// Read one striping unit (SU) from a link.
    fn read_su(
        &self,
        link: &Link,
        (tu, su): (&Tu, &Su),
        room: &mut [u8],
        started: &mut bool,
        timeout: Timeout<'_>,
    ) -> Result<SuResult> {
        let Some(into) = &link.into else {
            let why = "it has no ring to this process: its `to_rank_bytes` were 0";
            return Err(Error::Link(link.number, why.to_owned()));
        };
        let refused = |why: String| self.link_error(link.number, &why);
        let core = &self.core;
        let is_abandoned = |stream| lock(&core.registry).is_abandoned(stream);
        let mut ended = |stream| lock(&core.registry).ended_on(stream, link.number);
        let mut blocking = None;
        loop {
            let before = blocking.take();
            let with_reason = |error: Error| {
                describe(error, || match before {
                    Some(other) => format!(
                        "link {}: data of stream {other} is in front of that of stream {}: \
                         receive it, or give each stream links of its own",
                        link.number, self.number
                    ),
                    None => String::new(),
                })
            };
            let until = timeout
                .slice()
                .map_err(|expired| with_reason(expired.into()))?;
            let mut reading = into.take(timeout).map_err(with_reason)?;
            let next = reading.next(self.number, &is_abandoned, &mut ended, until);
            match next.map_err(refused)? {
                Next::Own(frame, _) => {
                    *started = true;
                    let good = check_frame(&frame, self.number, tu, su).map_err(refused)?;
                    if reading.data(room, until).map_err(refused)? {
                        return Ok(if good { SuResult::Good } else { SuResult::Void });
                    }
                }
                Next::Mark(kind) => return Ok(SuResult::Mark(kind)),
                Next::Other(stream) => {
                    blocking = Some(stream);
                    drop(reading);
                    match into.pause(timeout) {
                        // Ignore a timeout here: the next turn of the loop returns an error that
                        // names the stream whose data blocks the link.
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

/// Return whether a frame's data is valid: not void, which fills in for data that did not arrive.
/// Fails if the frame is not the expected striping unit (SU).
fn check_frame(frame: &Frame, stream: u32, tu: &Tu, su: &Su) -> std::result::Result<bool, String> {
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

/// Add a range of missing bytes, joined to the last range if the two are adjacent.
fn add_missing(missing: &mut Vec<Range<u64>>, range: Range<u64>) {
    match missing.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => missing.push(range),
    }
}
