//! Sends application data units (ADUs): divides them into striping units (SUs) and writes these to the links of this
//! process.

use crate::error::{Error, Result, describe};
use crate::link::{Link, Sending};
use crate::stream::{Position, Stream};
use crate::timed_mutex::TimedGuard;
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

/// Maximum time to wait for each of several links while all of them are full.
const ROUND_WAIT: Duration = Duration::from_millis(1);

/// The layout of the data in the caller's buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// The buffer has the whole application data unit (ADU); each striping unit (SU) is at its offset in the ADU.
    WholeAdu,
    /// The buffer has only the striping units (SUs) of this process's links, one after another.
    Packed,
}

/// The locked sending halves of links (those to which this process writes), with the links' numbers.
type Outputs<'l> = Vec<(u16, TimedGuard<'l, Sending>)>;

impl Stream {
    /// Send the next application data unit (ADU) from a buffer that contains all of it. Data for
    /// links of other processes is ignored. The caller may reuse the buffer afterwards.
    ///
    /// # Returns
    /// The number of the ADU.
    ///
    /// # Errors
    /// - [`Error::Misfit`]: a stream that receives, a wrong length, an ADU too many.
    /// - [`Error::TimedOut`]: if the links accepted none of it, the ADU can be sent again. If they
    ///   accepted a part, the stream is cancelled, later calls return [`Error::Stream`], and the
    ///   links stay usable.
    /// - [`Error::Stream`], [`Error::Link`], [`Error::Gone`], [`Error::Refused`].
    pub fn send(&self, adu: &[u8], timeout: Timeout<'_>) -> Result<u64> {
        let mut pos = self.lock_position(Direction::Transmit, false, timeout)?;
        let bytes = adu.len() as u64;
        let tus = self.format.tus(bytes);
        self.send_as(&mut pos, (bytes, tus), (Layout::WholeAdu, adu), timeout)?;
        Ok(pos.adu - 1)
    }

    /// Send those striping units (SUs) of the next application data unit (ADU) of `adu_bytes` that
    /// go over the links of this process. `own` is their concatenated data in the order of the ADU.
    ///
    /// # Returns
    /// The number of the ADU.
    ///
    /// # Errors
    /// As [`Stream::send`].
    pub fn send_own(&self, adu_bytes: u64, own: &[u8], timeout: Timeout<'_>) -> Result<u64> {
        let mut pos = self.lock_position(Direction::Transmit, false, timeout)?;
        self.check_own_bytes(adu_bytes, own.len())?;
        let tus = self.format.tus(adu_bytes);
        self.send_as(&mut pos, (adu_bytes, tus), (Layout::Packed, own), timeout)?;
        Ok(pos.adu - 1)
    }

    /// Send the next bytes that go over the links of this process, of a stream whose application
    /// data units (ADUs) all have the same length: some transfer units (TUs) of an ADU, or of
    /// several.
    ///
    /// # Errors
    /// [`Error::Misfit`] also if the bytes end within a TU; otherwise as [`Stream::send`].
    pub fn send_run(&self, own: &[u8], timeout: Timeout<'_>) -> Result<()> {
        let mut pos = self.lock_position(Direction::Transmit, true, timeout)?;
        self.check_run(&pos, own.len())?;
        let mut left = own;
        while !left.is_empty() {
            let (adu_bytes, tus, used) = self.next_run(&pos, left.len())?;
            let (now, rest) = left.split_at(used);
            self.send_as(&mut pos, (adu_bytes, tus), (Layout::Packed, now), timeout)?;
            left = rest;
        }
        Ok(())
    }

    /// Check that `own` is the number of bytes of an application data unit (ADU) that go over the
    /// links of this process.
    pub(crate) fn check_own_bytes(&self, adu_bytes: u64, own: usize) -> Result<()> {
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

    /// Check that `bytes` bytes from the position on end with a transfer unit (TU), before any of
    /// them is moved.
    pub(crate) fn check_run(&self, pos: &Position, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let (adu_bytes, _, used) = self.next_run(pos, bytes)?;
        let behind = (bytes - used) as u64 % self.own_bytes(adu_bytes).max(1);
        match self.reach(adu_bytes, 0, behind) {
            Some(_) => Ok(()),
            None => Err(Error::Misfit(format!(
                "stream {}: {bytes} bytes: they end within a TU",
                self.number
            ))),
        }
    }

    /// Return how to move the next run, `bytes` bytes that begin at `pos`, as three numbers: the size of an application
    /// data unit (ADU), the number of the transfer unit (TU) at which the run, or its part in the current ADU, ends,
    /// and the size of that part.
    pub(crate) fn next_run(&self, pos: &Position, bytes: usize) -> Result<(u64, u64, usize)> {
        let number = self.number;
        let misfit = |what: &str| Err(Error::Misfit(format!("stream {number}: {what}")));
        let Adu::Fixed(adu_bytes) = self.format.adu else {
            return misfit("each of its ADUs has its own length: move them one by one");
        };
        match self.reach(adu_bytes, pos.tu, bytes as u64) {
            Some((_, 0)) => misfit("none of its SUs goes over the links of this process"),
            Some((tus, used)) => Ok((adu_bytes, tus, used as usize)),
            None => misfit(&format!("{bytes} bytes: they end within a TU")),
        }
    }

    /// Send the data of the next application data unit (ADU) from the current position up to
    /// transfer unit (TU) number `tus`.
    fn send_as(
        &self,
        pos: &mut Position,
        (adu_bytes, tus): (u64, u64),
        (layout, bytes): (Layout, &[u8]),
        timeout: Timeout<'_>,
    ) -> Result<()> {
        let fits = self.check_next(pos.adu, adu_bytes);
        fits.map_err(|misfit| self.core.gone().unwrap_or(misfit))?;
        self.check_running(timeout)?;
        if self.cancelled.load(Ordering::Relaxed) {
            let why = "it was cancelled".to_owned();
            return Err(Error::Stream(self.number, why));
        }
        let links = self.links()?;
        let mut outs = self.lock_outputs(&links, timeout)?;
        if pos.tu == 0 {
            self.announce(&outs, adu_bytes, timeout)?;
        }
        let mut started = pos.tu > 0;
        let what = (pos.adu, adu_bytes, pos.tu..tus);
        let sent = self.write(&mut outs, what, (layout, bytes), &mut started, timeout);
        match sent {
            Ok(()) => pos.advance(tus, self.format.tus(adu_bytes)),
            Err(error) => {
                // Describe the error now, before the links are released for other streams, which would change what the
                // description says.
                let error = describe(error, || {
                    let (number, adu, given) = (self.number, pos.adu, timeout.given());
                    let took = if started { "nothing more" } else { "nothing" };
                    let why = self.explanation();
                    format!("stream {number}: the links took {took} of ADU {adu} for {given}{why}")
                });
                if started {
                    self.abort(pos, &error);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Check that the next application data unit (ADU) of the stream may have this number and this
    /// length in bytes.
    pub(crate) fn check_next(&self, adu: u64, bytes: u64) -> Result<()> {
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
                let limit = self.format.tu_bytes;
                misfit(format!("{bytes} bytes: its ADUs have 1 to {limit}"))
            }
            _ => Ok(()),
        }
    }

    /// Lock the sending halves of the links (those to which this process writes), in ascending order to avoid
    /// deadlocks.
    fn lock_outputs<'l>(
        &self,
        links: &'l [Arc<Link>],
        timeout: Timeout<'_>,
    ) -> Result<Outputs<'l>> {
        let mut outs = Vec::with_capacity(links.len());
        for link in links {
            let out = link.out.as_ref().ok_or_else(|| {
                let why = "it has no ring from this process: its `from_rank_bytes` were 0";
                Error::Link(link.number, why.to_owned())
            })?;
            let busy = || format!("link {}: another call has it", link.number);
            let out = out.take(timeout).map_err(|error| describe(error, busy))?;
            outs.push((link.number, out));
        }
        for (number, out) in &mut outs {
            while !self.clear_rest(*number, out, timeout)? {}
        }
        Ok(outs)
    }

    /// Write the rest of an unfinished frame to a link before a new frame. Returns whether all of
    /// it is written.
    fn clear_rest(&self, link: u16, out: &mut Sending, timeout: Timeout<'_>) -> Result<bool> {
        let busy = || format!("link {link}: it takes nothing{}", self.explanation());
        let until = timeout.slice().map_err(|error| describe(error, busy))?;
        out.write_rest(until)
            .map_err(|why| self.link_error(link, &why))
    }

    /// Announce the length of an application data unit (ADU) of variable size, if this process has
    /// the link of the first striping unit (SU).
    fn announce(&self, outs: &Outputs<'_>, adu_bytes: u64, timeout: Timeout<'_>) -> Result<()> {
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

    /// Write the striping units (SUs) of this process's links, one transfer unit (TU) after another.
    /// All links of a TU are written in turn: the manager starts a stream only when each link has
    /// data, and until then a link accepts no more than its ring or socket has room for.
    fn write(
        &self,
        outs: &mut Outputs<'_>,
        (adu, adu_bytes, tus): (u64, u64, Range<u64>),
        (layout, bytes): (Layout, &[u8]),
        started: &mut bool,
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
                let offset = match layout {
                    Layout::WholeAdu => (tu.offset + su.offset) as usize,
                    Layout::Packed => packed,
                };
                let data = &bytes[offset..offset + su.bytes as usize];
                packed += data.len();
                queues[out].push_back(Part::new(self, (&tu, &su), data));
            }
            let written = self.write_queues(outs, &mut queues, started, timeout);
            if written.is_err() {
                // Keep the unfinished frame of each link, whose rest is written before other data, so that the link
                // stays usable.
                for ((_, out), queue) in outs.iter_mut().zip(&mut queues) {
                    if let Some(part) = queue.pop_front() {
                        part.finish_later(out);
                    }
                }
            }
            written?;
        }
        Ok(())
    }

    /// Write the first striping unit (SU) of each link's queue, one link after the other, and wait
    /// only if all links are full.
    fn write_queues(
        &self,
        outs: &mut Outputs<'_>,
        queues: &mut [VecDeque<Part<'_>>],
        started: &mut bool,
        timeout: Timeout<'_>,
    ) -> Result<()> {
        let mut left = timeout.restarted();
        // Time to wait for each link in this round: none after a round with progress.
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
                    let before = part.offset;
                    part.write(out, until)
                        .map_err(|why| self.link_error(*link, &why))?;
                    *started |= part.offset > 0;
                    moved |= part.offset > before;
                    if part.is_written() {
                        queue.pop_front();
                        left = timeout.restarted();
                        continue;
                    }
                    if let Some(gone) = self.core.gone() {
                        return Err(gone);
                    }
                    if part.offset == before {
                        break;
                    }
                }
            }
            if queues.iter().all(VecDeque::is_empty) {
                return Ok(());
            }
            wait = if moved { Duration::ZERO } else { ROUND_WAIT };
        }
    }
}

/// A striping unit (SU) that is being written to a link.
struct Part<'d> {
    head: [u8; Frame::BYTES],
    data: &'d [u8],
    sums: Sums,
    /// Number of data bytes that the checksums cover so far.
    summed: usize,
    /// Number of written bytes of header, data and checksums.
    offset: usize,
    /// Total number of bytes of header, data and checksums.
    size: usize,
}

impl<'d> Part<'d> {
    /// Create the state of a striping unit (SU) of which no byte was written.
    fn new(stream: &Stream, (tu, su): (&Tu, &Su), data: &'d [u8]) -> Self {
        let sums = Sums::new(stream.sums);
        let number = isthmus_stream::StreamId(stream.number);
        let frame = Frame::su(sums.kind(), number, tu, su);
        Self {
            head: frame.encode(),
            data,
            sums,
            summed: 0,
            offset: 0,
            size: Frame::BYTES + data.len() + frame.sums_bytes(),
        }
    }

    /// Return whether the whole striping unit (SU) and its checksums are written.
    fn is_written(&self) -> bool {
        self.offset == self.size
    }

    /// Write as much of the striping unit (SU) as the link accepts until `until`, at most one
    /// checksum block.
    fn write(&mut self, out: &mut Sending, until: Instant) -> std::result::Result<(), String> {
        let sums_at = self.head.len() + self.data.len();
        if self.offset >= sums_at {
            let behind = out.write_sums(self.offset - sums_at, self.sums.words(), until)?;
            self.offset = sums_at + behind;
            return Ok(());
        }
        // Compute the checksum of each block right before it is written.
        if self.offset == 0 || self.offset == self.head.len() + self.summed {
            let next = match self.sums.kind() {
                Kind::Data => self.data.len(),
                _ => self.data.len().min(self.summed + BLOCK_BYTES),
            };
            self.sums.add(&self.data[self.summed..next]);
            self.summed = next;
        }
        self.offset = out.write(self.offset, &self.head, &self.data[..self.summed], until)?;
        Ok(())
    }

    /// If the frame is partly written, make the link write its rest before other data.
    fn finish_later(mut self, out: &mut Sending) {
        if self.offset > 0 {
            self.sums.add(&self.data[self.summed..]);
            out.finish_later(self.offset, [&self.head, self.data, self.sums.words()]);
        }
    }
}
