//! Sending: ADUs cut into SUs over the links of this process.

use crate::error::{Error, Result, named};
use crate::half::Taken;
use crate::link::{Link, Sending};
use crate::patience::Patience;
use crate::stream::Stream;
use isthmus_nic_protocol::{Direction, Request};
use isthmus_stream::{Adu, Su, Tu};
use isthmus_stream_net::frame::{Frame, Kind};
use std::sync::Arc;

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
    pub fn send(&self, adu: &[u8], patience: Patience<'_>) -> Result<u64> {
        self.send_as(Lies::InAdu, adu.len() as u64, adu, patience)
    }

    /// Sends of the next ADU, which has `adu_bytes`, the SUs that go over the links of this
    /// process: their bytes are given one after another, in the order of the ADU.
    ///
    /// # Returns
    /// The number of the ADU.
    ///
    /// # Errors
    /// As [`Stream::send`].
    pub fn send_own(&self, adu_bytes: u64, own: &[u8], patience: Patience<'_>) -> Result<u64> {
        let wanted = self.own_bytes(adu_bytes);
        if own.len() as u64 != wanted {
            let (number, has) = (self.number, own.len());
            return Err(Error::Misfit(format!(
                "stream {number}: {has} bytes, of an ADU of {adu_bytes} the links of this process \
                 carry {wanted}"
            )));
        }
        self.send_as(Lies::Packed, adu_bytes, own, patience)
    }

    fn send_as(
        &self,
        lies: Lies,
        adu_bytes: u64,
        bytes: &[u8],
        patience: Patience<'_>,
    ) -> Result<u64> {
        let mut place = self.turn(Direction::Transmit, patience)?;
        self.fits(place.adu, adu_bytes)?;
        self.goes_on(patience)?;
        let links = self.links()?;
        let mut outs = self.outs(&links, patience)?;
        self.announce(&outs, adu_bytes, patience)?;
        let mut began = false;
        let sent = self.write(
            &mut outs,
            (place.adu, adu_bytes),
            (lies, bytes),
            &mut began,
            patience,
        );
        match sent {
            Ok(()) => {
                place.adu += 1;
                Ok(place.adu - 1)
            }
            Err(error) => {
                // Before the links are let go, whose next frames are another stream's.
                let error = named(error, || {
                    let (number, adu, given) = (self.number, place.adu, patience.given());
                    let took = if began { "nothing more" } else { "nothing" };
                    let why = self.explained();
                    format!("stream {number}: the links took {took} of ADU {adu} for {given}{why}")
                });
                if began {
                    self.leave(&mut place, &error);
                }
                Err(error)
            }
        }
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
    fn outs<'l>(&self, links: &'l [Arc<Link>], patience: Patience<'_>) -> Result<Outs<'l>> {
        let mut outs = Vec::with_capacity(links.len());
        for link in links {
            let out = link.out.as_ref().ok_or_else(|| {
                let why = "it has no ring from this process: its `from_rank_bytes` were 0";
                Error::Link(link.number, why.to_owned())
            })?;
            let busy = || format!("link {}: another call has it", link.number);
            let out = out.take(patience).map_err(|error| named(error, busy))?;
            outs.push((link.number, out));
        }
        for (number, out) in &mut outs {
            while !self.cleared(*number, out, patience)? {}
        }
        Ok(outs)
    }

    fn cleared(&self, link: u16, out: &mut Sending, patience: Patience<'_>) -> Result<bool> {
        let busy = || format!("link {link}: it takes nothing{}", self.explained());
        let until = patience.slice().map_err(|error| named(error, busy))?;
        out.clear(until).map_err(|why| self.link_error(link, &why))
    }

    /// Tells the length of a variable ADU, if this process has the link of its first SU.
    fn announce(&self, outs: &Outs<'_>, adu_bytes: u64, patience: Patience<'_>) -> Result<()> {
        let first = self.format.order.first().map(|link| link.0);
        let first = outs.iter().any(|(link, _)| Some(*link) == first);
        if self.format.adu != Adu::Variable || !first {
            return Ok(());
        }
        let stream = self.number;
        let request = Request::Announce { stream, adu_bytes };
        self.core.ask(request, false, patience)?.wait(patience)?;
        Ok(())
    }

    fn write(
        &self,
        outs: &mut Outs<'_>,
        (adu, adu_bytes): (u64, u64),
        (lies, bytes): (Lies, &[u8]),
        began: &mut bool,
        patience: Patience<'_>,
    ) -> Result<()> {
        let mut packed = 0;
        for index in 0..self.format.tus(adu_bytes) {
            let Some(tu) = self.format.tu(adu, adu_bytes, index) else {
                break;
            };
            for su in self.format.sus(tu.bytes) {
                let Some((_, out)) = outs.iter_mut().find(|(link, _)| *link == su.link.0) else {
                    continue;
                };
                let at = match lies {
                    Lies::InAdu => (tu.offset + su.offset) as usize,
                    Lies::Packed => packed,
                };
                let data = &bytes[at..at + su.bytes as usize];
                packed += data.len();
                self.write_su(out, (&tu, &su), data, began, patience.renewed())?;
            }
        }
        Ok(())
    }

    fn write_su(
        &self,
        out: &mut Sending,
        (tu, su): (&Tu, &Su),
        data: &[u8],
        began: &mut bool,
        patience: Patience<'_>,
    ) -> Result<()> {
        let stream = isthmus_stream::StreamId(self.number);
        let head = Frame::su(Kind::Data, stream, tu, su).encode();
        let mut at = 0;
        loop {
            let until = match patience.slice() {
                Ok(until) => until,
                Err(error) => {
                    if at > 0 {
                        out.leave(at, &head, data);
                    }
                    return Err(error);
                }
            };
            at = out
                .frame(at, &head, data, until)
                .map_err(|why| self.link_error(su.link.0, &why))?;
            *began |= at > 0;
            if at == head.len() + data.len() {
                return Ok(());
            }
            if let Some(gone) = self.core.gone() {
                return Err(gone);
            }
        }
    }
}
