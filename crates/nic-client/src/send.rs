//! Sending: ADUs cut into SUs over the links of this process.

use crate::error::{Error, Result, named};
use crate::half::Taken;
use crate::link::{Link, Sending};
use crate::stream::{Place, Stream};
use isthmus_nic_protocol::{Direction, Request};
use isthmus_stream::{Adu, Su, Tu};
use isthmus_stream_net::frame::{BLOCK_BYTES, Frame, Kind};
use isthmus_stream_net::rank::Sums;
use isthmus_wire::Timeout;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long each of several links is waited for while none takes anything.
const ROUND: Duration = Duration::from_millis(1);

/// Where an SU's bytes are in what is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lies {
    /// At their place in the whole ADU.
    InAdu,
    /// Behind those of the SU before it on the links of this process.
    Packed,
}

type Outs<'l> = Vec<(u16, Taken<'l, Sending>)>;

impl Stream {
    /// Sends the next ADU, all of which is given; what goes over links of other processes is not
    /// looked at. The bytes are the caller's again when this returns.
    ///
    /// # Returns
    /// The number of the ADU.
    ///
    /// # Errors
    /// - [`Error::Misfit`]: a stream that receives, another length, an ADU too many.
    /// - [`Error::TimedOut`]: the links took nothing of it, and it can be sent again. If they took
    ///   a part, the stream is cancelled, later calls get [`Error::Stream`], and the links go on.
    /// - [`Error::Stream`], [`Error::Link`], [`Error::Gone`], [`Error::Refused`].
    pub fn send(&self, adu: &[u8], timeout: Timeout<'_>) -> Result<u64> {
        let mut place = self.turn(Direction::Transmit, false, timeout)?;
        let bytes = adu.len() as u64;
        let tus = self.format.tus(bytes);
        self.send_as(&mut place, (bytes, tus), (Lies::InAdu, adu), timeout)?;
        Ok(place.adu - 1)
    }

    /// Sends of the next ADU, which has `adu_bytes`, the SUs that go over the links of this
    /// process: their bytes are given one after another, in the order of the ADU.
    ///
    /// # Returns
    /// The number of the ADU.
    ///
    /// # Errors
    /// As [`Stream::send`].
    pub fn send_own(&self, adu_bytes: u64, own: &[u8], timeout: Timeout<'_>) -> Result<u64> {
        let mut place = self.turn(Direction::Transmit, false, timeout)?;
        self.fits_own(adu_bytes, own.len())?;
        let tus = self.format.tus(adu_bytes);
        self.send_as(&mut place, (adu_bytes, tus), (Lies::Packed, own), timeout)?;
        Ok(place.adu - 1)
    }

    /// Sends the next bytes of those that go over the links of this process, of a stream whose ADUs
    /// all have the same length: some TUs of an ADU, or of several.
    ///
    /// # Errors
    /// [`Error::Misfit`] also if they end within a TU; otherwise as [`Stream::send`].
    pub fn send_run(&self, own: &[u8], timeout: Timeout<'_>) -> Result<()> {
        let mut place = self.turn(Direction::Transmit, true, timeout)?;
        self.fits_run(&place, own.len())?;
        let mut left = own;
        while !left.is_empty() {
            let (adu_bytes, tus, used) = self.run(&place, left.len())?;
            let (now, rest) = left.split_at(used);
            self.send_as(&mut place, (adu_bytes, tus), (Lies::Packed, now), timeout)?;
            left = rest;
        }
        Ok(())
    }

    /// Whether so many bytes are those of an ADU that go over the links of this process.
    pub(crate) fn fits_own(&self, adu_bytes: u64, own: usize) -> Result<()> {
        let wanted = self.own_bytes(adu_bytes);
        match own as u64 == wanted {
            true => Ok(()),
            false => Err(Error::Misfit(format!(
                "stream {}: {own} bytes, of an ADU of {adu_bytes} the links of this process carry \
                 {wanted}",
                self.number
            ))),
        }
    }

    /// Whether so many bytes that go on where a stream is end with a TU: asked before any is moved.
    pub(crate) fn fits_run(&self, place: &Place, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (adu_bytes, _, used) = self.run(place, bytes)?;
        let behind = (bytes - used) as u64 % self.own_bytes(adu_bytes).max(1);
        match self.reach(adu_bytes, 0, behind) {
            Some(_) => Ok(()),
            None => Err(Error::Misfit(format!(
                "stream {}: {bytes} bytes: they end within a TU",
                self.number
            ))),
        }
    }

    /// Of so many bytes that go on where a stream is: bytes of its ADUs, up to which TU of this one
    /// they lead, and how many are of this one.
    pub(crate) fn run(&self, place: &Place, bytes: usize) -> Result<(u64, u64, usize)> {
        let number = self.number;
        let misfit = |what: &str| Err(Error::Misfit(format!("stream {number}: {what}")));
        let Adu::Fixed(adu_bytes) = self.format.adu else {
            return misfit("each of its ADUs has its own length: move them one by one");
        };
        match self.reach(adu_bytes, place.tu, bytes as u64) {
            Some((_, 0)) => misfit("none of its SUs goes over the links of this process"),
            Some((tus, used)) => Ok((adu_bytes, tus, used as usize)),
            None => misfit(&format!("{bytes} bytes: they end within a TU")),
        }
    }

    /// Sends the next ADU from where it is up to before a TU.
    fn send_as(
        &self,
        place: &mut Place,
        (adu_bytes, tus): (u64, u64),
        (lies, bytes): (Lies, &[u8]),
        timeout: Timeout<'_>,
    ) -> Result<()> {
        let fits = self.fits(place.adu, adu_bytes);
        fits.map_err(|misfit| self.core.gone().unwrap_or(misfit))?;
        self.goes_on(timeout)?;
        if self.cancelled.load(Ordering::Relaxed) {
            let why = "it was cancelled".to_owned();
            return Err(Error::Stream(self.number, why));
        }
        let links = self.links()?;
        let mut outs = self.outs(&links, timeout)?;
        if place.tu == 0 {
            self.announce(&outs, adu_bytes, timeout)?;
        }
        let mut began = place.tu > 0;
        let what = (place.adu, adu_bytes, place.tu..tus);
        let sent = self.write(&mut outs, what, (lies, bytes), &mut began, timeout);
        match sent {
            Ok(()) => place.advance(tus, self.format.tus(adu_bytes)),
            Err(error) => {
                // Before the links are let go, whose next frames are another stream's.
                let error = named(error, || {
                    let (number, adu, given) = (self.number, place.adu, timeout.given());
                    let took = if began { "nothing more" } else { "nothing" };
                    let why = self.explained();
                    format!("stream {number}: the links took {took} of ADU {adu} for {given}{why}")
                });
                if began {
                    self.leave(place, &error);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Whether an ADU of this length can be the next.
    pub(crate) fn fits(&self, adu: u64, bytes: u64) -> Result<()> {
        let number = self.number;
        let misfit = |what: String| Err(Error::Misfit(format!("stream {number}: {what}")));
        if self.adus().is_some_and(|adus| adu >= adus) {
            return misfit(format!("all of its {adu} ADUs were moved before"));
        }
        match self.format.adu {
            Adu::Fixed(all) if all != bytes => {
                misfit(format!("{bytes} bytes: its ADUs have {all}"))
            }
            Adu::Variable if bytes == 0 || bytes > self.format.tu_bytes => {
                let most = self.format.tu_bytes;
                misfit(format!("{bytes} bytes: its ADUs have 1 to {most}"))
            }
            _ => Ok(()),
        }
    }

    /// Takes the ways out, in ascending order, so that two callers never wait for each other.
    fn outs<'l>(&self, links: &'l [Arc<Link>], timeout: Timeout<'_>) -> Result<Outs<'l>> {
        let mut outs = Vec::with_capacity(links.len());
        for link in links {
            let out = link.out.as_ref().ok_or_else(|| {
                let why = "it has no ring from this process: its `from_rank_bytes` were 0";
                Error::Link(link.number, why.to_owned())
            })?;
            let busy = || format!("link {}: another call has it", link.number);
            let out = out.take(timeout).map_err(|error| named(error, busy))?;
            outs.push((link.number, out));
        }
        for (number, out) in &mut outs {
            while !self.cleared(*number, out, timeout)? {}
        }
        Ok(outs)
    }

    fn cleared(&self, link: u16, out: &mut Sending, timeout: Timeout<'_>) -> Result<bool> {
        let busy = || format!("link {link}: it takes nothing{}", self.explained());
        let until = timeout.slice().map_err(|error| named(error, busy))?;
        out.clear(until).map_err(|why| self.link_error(link, &why))
    }

    /// Tells the length of a variable ADU, if this process has the link of its first SU.
    fn announce(&self, outs: &Outs<'_>, adu_bytes: u64, timeout: Timeout<'_>) -> Result<()> {
        let first = self.format.order.first().map(|link| link.0);
        let first = outs.iter().any(|(link, _)| Some(*link) == first);
        if self.format.adu != Adu::Variable || !first {
            return Ok(());
        }
        let stream = self.number;
        let request = Request::Announce { stream, adu_bytes };
        self.core.ask(request, false, timeout)?.wait(timeout)?;
        Ok(())
    }

    /// Writes the SUs of the links of this process, TU by TU. Those of a TU go over all links at
    /// once: the manager begins with a stream when each link has data, and a link takes no more
    /// than its ring or its socket holds before that.
    fn write(
        &self,
        outs: &mut Outs<'_>,
        (adu, adu_bytes, tus): (u64, u64, Range<u64>),
        (lies, bytes): (Lies, &[u8]),
        began: &mut bool,
        timeout: Timeout<'_>,
    ) -> Result<()> {
        let mut packed = 0;
        let mut queues: Vec<VecDeque<Part<'_>>> = outs.iter().map(|_| VecDeque::new()).collect();
        for index in tus {
            let Some(tu) = self.format.tu(adu, adu_bytes, index) else {
                break;
            };
            for su in self.format.sus(tu.bytes) {
                let Some(out) = outs.iter().position(|(link, _)| *link == su.link.0) else {
                    continue;
                };
                let at = match lies {
                    Lies::InAdu => (tu.offset + su.offset) as usize,
                    Lies::Packed => packed,
                };
                let data = &bytes[at..at + su.bytes as usize];
                packed += data.len();
                queues[out].push_back(Part::new(self, (&tu, &su), data));
            }
            let written = self.write_queues(outs, &mut queues, began, timeout);
            if written.is_err() {
                // The links are in step again once the rest of what was begun is written.
                for ((_, out), queue) in outs.iter_mut().zip(&mut queues) {
                    if let Some(part) = queue.pop_front() {
                        part.leave(out);
                    }
                }
            }
            written?;
        }
        Ok(())
    }

    /// Writes what is first in the queue of each link, a link after the other, and waits only where
    /// none takes anything.
    fn write_queues(
        &self,
        outs: &mut Outs<'_>,
        queues: &mut [VecDeque<Part<'_>>],
        began: &mut bool,
        timeout: Timeout<'_>,
    ) -> Result<()> {
        let mut left = timeout.restarted();
        // How long each link is waited for in this round: not at all after one that moved something.
        let mut wait = Duration::ZERO;
        loop {
            let several = queues.iter().filter(|queue| !queue.is_empty()).count() > 1;
            let mut moved = false;
            for ((link, out), queue) in outs.iter_mut().zip(queues.iter_mut()) {
                while let Some(part) = queue.front_mut() {
                    let slice = left.slice()?;
                    let until = if several {
                        slice.min(Instant::now() + wait)
                    } else {
                        slice
                    };
                    let before = part.at;
                    part.write(out, until)
                        .map_err(|why| self.link_error(*link, &why))?;
                    *began |= part.at > 0;
                    moved |= part.at > before;
                    if part.is_written() {
                        queue.pop_front();
                        left = timeout.restarted();
                        continue;
                    }
                    if let Some(gone) = self.core.gone() {
                        return Err(gone);
                    }
                    if part.at == before {
                        break;
                    }
                }
            }
            if queues.iter().all(VecDeque::is_empty) {
                return Ok(());
            }
            wait = if moved { Duration::ZERO } else { ROUND };
        }
    }
}

/// An SU on its way.
struct Part<'d> {
    head: [u8; Frame::BYTES],
    data: &'d [u8],
    sums: Sums,
    /// Bytes of the data that are in the sums.
    summed: usize,
    /// Bytes of head, data and sums that are written.
    at: usize,
    /// How many those are in all.
    whole: usize,
}

impl<'d> Part<'d> {
    fn new(stream: &Stream, (tu, su): (&Tu, &Su), data: &'d [u8]) -> Self {
        let sums = Sums::new(stream.sums);
        let number = isthmus_stream::StreamId(stream.number);
        let frame = Frame::su(sums.kind(), number, tu, su);
        Self {
            head: frame.encode(),
            data,
            sums,
            summed: 0,
            at: 0,
            whole: Frame::BYTES + data.len() + frame.sums_bytes(),
        }
    }

    fn is_written(&self) -> bool {
        self.at == self.whole
    }

    /// Writes what the link takes until then, of a block that is summed at most.
    fn write(&mut self, out: &mut Sending, until: Instant) -> std::result::Result<(), String> {
        let sums_at = self.head.len() + self.data.len();
        if self.at >= sums_at {
            let behind = out.behind(self.at - sums_at, self.sums.words(), until)?;
            self.at = sums_at + behind;
            return Ok(());
        }
        // Each block is summed right before it is written.
        if self.at == 0 || self.at == self.head.len() + self.summed {
            let next = match self.sums.kind() {
                Kind::Data => self.data.len(),
                _ => self.data.len().min(self.summed + BLOCK_BYTES),
            };
            self.sums.add(&self.data[self.summed..next]);
            self.summed = next;
        }
        self.at = out.frame(self.at, &self.head, &self.data[..self.summed], until)?;
        Ok(())
    }

    /// Has the link write the rest before anything else, if it is in the midst of it.
    fn leave(mut self, out: &mut Sending) {
        if self.at > 0 {
            self.sums.add(&self.data[self.summed..]);
            out.leave(self.at, [&self.head, self.data, self.sums.words()]);
        }
    }
}
