//! The half of a link that ranks write to: the driver reads frames from it, and moves their
//! striping units (SUs) to the buffers into which the stream manager fetches them.

use super::{LinkEvent, LiveStream, PendingFetch, Progress, ResumableSource, Source};
use crate::claims::{RingClaim, SumBuffer};
use crate::frame::{BLOCK_BYTES, Frame, Kind};
use crate::memory::Memory;
use crate::sum::Sum;
use isthmus_ring::{Claim, Consumer};
use isthmus_stream::StreamId;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{BufferId, LinkId, OrderId};
use isthmus_wire::Moved;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Maximum number of bytes moved on a link per call, so that other links are served too.
const TURN: usize = 1 << 20;
/// Maximum size in bytes of a small striping unit, frame included: for these, a system call costs
/// more than the copy.
const SMALL: u64 = 4 << 10;
/// Maximum number of small striping units that the driver collects in a link before it reads them.
const COLLECT_MAX: u64 = 64;
/// Number of bytes that are copied before their checksum is computed, while they are in the L2
/// cache.
const STEP: usize = 64 << 10;
/// Maximum time for which claimed bytes may block a rank that wants to write to its ring.
pub(crate) const CLAIM_TIMEOUT: Duration = Duration::from_millis(20);
/// Interval of the checks for a blocked rank after `CLAIM_TIMEOUT`.
const RECHECK: Duration = Duration::from_millis(5);

/// A striping unit (SU) that is being read from a link, with the progress so far.
#[derive(Debug)]
struct Reading {
    order: OrderId,
    stream: StreamId,
    adu: u64,
    buffer: BufferId,
    /// Position in the buffer of the first byte of the striping unit (SU). `bytes` is the length of
    /// the SU; `done` and `summed` count its bytes that were read and checksummed.
    at: usize,
    bytes: usize,
    done: usize,
    summed: usize,
    checksum: Checksum,
    sum: Sum,
    /// Whether the data of the striping unit stays in the ring until it is sent.
    stays: bool,
    /// The part of the rank's checksums that was read so far. They follow the data and have
    /// `sums_bytes` bytes in all.
    sums: Vec<u8>,
    sums_bytes: usize,
    /// Whether the rank sends checksums of the kind that the connection uses.
    summed_by_rank: bool,
}

/// The end of a link from a rank at which the driver of the stream manager reads data.
#[derive(Debug)]
pub(crate) struct Input {
    source: Source,
    head: [u8; Frame::BYTES],
    got: usize,
    /// The header of a striping unit for which no order to fetch exists yet.
    frame: Option<Frame>,
    reading: Option<Reading>,
    /// Number of bytes of an unwanted striping unit that are still to be skipped.
    skip: u64,
    /// Number of frames of streams that have ended or never existed.
    pub stray: u64,
    /// Whether the claims have reached their limit, so that nothing is read until some claims are
    /// released.
    full: bool,
    /// Position of the oldest claimed byte in the ring, and the time since which it is the oldest.
    oldest: Option<(u64, Instant)>,
    sum_buffer: SumBuffer,
    /// Stream and size of the last small striping unit that was read since the driver last slept.
    small: Option<(StreamId, u64)>,
}

impl Input {
    /// Creates the end of a link at which the driver reads, before any frame has arrived.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            head: [0; Frame::BYTES],
            got: 0,
            frame: None,
            reading: None,
            skip: 0,
            stray: 0,
            full: false,
            oldest: None,
            sum_buffer: SumBuffer::default(),
            small: None,
        }
    }

    /// Releases the claims on ring memory that are no longer used. Returns whether the remaining
    /// claims have blocked the rank for too long.
    pub fn release_claims(&mut self, now: Instant) -> bool {
        let Source::Ring(ring) = &mut self.source else {
            return false;
        };
        let held = ring.held();
        if held == 0 {
            self.oldest = None;
            return false;
        }
        let oldest = ring.read_so_far() - held;
        match self.oldest {
            Some((at, since)) if at == oldest => {
                now >= since + CLAIM_TIMEOUT && (self.full || ring.producer_sleeps())
            }
            _ => {
                self.oldest = Some((oldest, now));
                false
            }
        }
    }

    /// Returns the time of the next check of the claims: `CLAIM_TIMEOUT` after the oldest one, and
    /// then at regular intervals, because the rank may want to write at any time.
    pub fn deadline(&self) -> Option<Instant> {
        let (_, since) = self.oldest?;
        let now = Instant::now();
        let first = since + CLAIM_TIMEOUT;
        Some(if first > now { first } else { now + RECHECK })
    }

    /// Discards unread data of a stream that has ended.
    pub fn forget(&mut self, stream: StreamId) {
        if let Some(frame) = self.frame.take_if(|frame| frame.stream == stream) {
            self.skip = frame.follow();
        }
    }

    /// Skips the striping unit that is being read if it belongs to this order. Returns whether it
    /// belongs to the order.
    pub fn withdraw(&mut self, order: OrderId) -> bool {
        match self.reading.take_if(|reading| reading.order == order) {
            Some(reading) => {
                let sums = reading.sums_bytes - reading.sums.len();
                self.skip = (reading.bytes - reading.done + sums) as u64;
                true
            }
            None => false,
        }
    }

    /// Returns whether the header of a striping unit has arrived, but nothing can be read before
    /// the stream manager orders a fetch of this unit. `oldest` is up to date, because the driver
    /// keeps trying a link for some rounds after data moved on it.
    pub fn is_blocked(&self) -> bool {
        let idle = self.reading.is_none() && self.skip == 0 && self.oldest.is_none();
        self.frame.is_some() && idle
    }

    /// Returns whether this input waits for bytes from its socket: no received frame waits to be
    /// handled, and the memory for received data is not full.
    pub fn waits_for_bytes(&self) -> bool {
        self.frame.is_none() && !self.full && self.fd().is_some()
    }

    /// Returns the reading half of a resumable link. None for other links.
    pub fn resumable(&mut self) -> Option<&mut ResumableSource> {
        match &mut self.source {
            Source::Resumable(resumable) => Some(resumable),
            _ => None,
        }
    }

    /// Returns the stream whose small striping units were read from this ring since the driver last
    /// slept. None if there were none, if the link is no ring, or if a striping unit is partly
    /// read.
    pub fn small_stream(&self) -> Option<StreamId> {
        let collects = self
            .small
            .filter(|_| self.is_ring() && self.reading.is_none());
        collects.map(|(stream, _)| stream)
    }

    /// Returns the number of bytes in the ring at which the rank should wake the driver.
    pub fn wake_threshold(&self) -> u64 {
        let remaining = self.reading.as_ref().map(|it| match &self.source {
            _ if it.done == it.bytes => (it.sums_bytes - it.sums.len()) as u64,
            Source::Ring(ring) if it.stays => it.step(ring),
            _ => (it.bytes - it.done) as u64,
        });
        remaining.unwrap_or(self.skip.max(1))
    }

    /// Returns whether the link is a ring.
    pub fn is_ring(&self) -> bool {
        matches!(self.source, Source::Ring(_))
    }

    /// Returns the file descriptor to poll for readable data. None while the link has no socket.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match &self.source {
            Source::Ring(ring) => Some(ring.as_fd()),
            Source::Socket(socket) => Some(socket.as_fd()),
            Source::Resumable(resumable) => resumable.socket.as_ref().map(|socket| socket.as_fd()),
        }
    }

    /// Prepares the link for a poll. Returns whether the driver may sleep on the descriptor.
    /// `collects` says whether the driver waits to collect several striping units of a stream.
    pub fn arm(&mut self, collects: bool) -> bool {
        let small = self.small.take().filter(|_| collects);
        let threshold = small.map_or(self.wake_threshold(), |(_, bytes)| bytes * COLLECT_MAX);
        match &mut self.source {
            // If a ring cannot be armed for a wake-up, it is broken. Ignore the error here: the
            // next read reports it.
            Source::Ring(ring) => ring
                .arm(threshold.min(ring.capacity() / 2))
                .unwrap_or(false),
            Source::Socket(_) | Source::Resumable(_) => true,
        }
    }

    /// Records that a poll found the link readable.
    pub fn mark_ready(&mut self) {
        if let Source::Ring(ring) = &mut self.source {
            // Ignore an error here: the next read reports it.
            let _ = ring.mark_ready();
        }
    }

    /// Reads frames, up to the maximum of a turn. Returns whether data moved. `live_stream` returns
    /// the state of running streams; `progress` counts their progress.
    pub fn advance(
        &mut self,
        link: LinkId,
        memory: &mut Memory,
        fetches: &mut VecDeque<PendingFetch>,
        progress: &mut BTreeMap<StreamId, Progress>,
        live_stream: &dyn Fn(StreamId) -> Option<LiveStream>,
        events: &mut Vec<LinkEvent>,
    ) -> bool {
        let mut remaining = TURN;
        let mut any = false;
        self.full = false;
        while remaining > 0 {
            let moved = if self.skip > 0 {
                self.skip_bytes()
            } else if self.reading.is_some() {
                self.read(link, memory, progress, events)
            } else if let Some(frame) = self.frame {
                match self.begin(&frame, memory, fetches, live_stream, events) {
                    true => {
                        any = true;
                        continue;
                    }
                    false => return any,
                }
            } else {
                self.next_head(progress, live_stream, events)
            };
            match moved {
                Ok(Moved::Some(bytes)) => {
                    any = true;
                    remaining = remaining.saturating_sub(bytes);
                }
                Ok(Moved::None) => return any,
                Ok(Moved::End) => {
                    events.push(LinkEvent::Gone("its other end was closed".into()));
                    return true;
                }
                Err(why) => {
                    events.push(LinkEvent::Gone(why));
                    return true;
                }
            }
        }
        any
    }

    /// Starts to read a striping unit into the buffer of the pending fetch of its stream. Returns
    /// false if no fetch is pending.
    fn begin(
        &mut self,
        frame: &Frame,
        memory: &mut Memory,
        fetches: &mut VecDeque<PendingFetch>,
        live_stream: &dyn Fn(StreamId) -> Option<LiveStream>,
        events: &mut Vec<LinkEvent>,
    ) -> bool {
        let Some(index) = fetches
            .iter()
            .position(|fetch| fetch.stream == frame.stream)
        else {
            return false;
        };
        self.frame = None;
        let fetch = &fetches[index];
        let asked = Frame::su(frame.kind, fetch.stream, &fetch.tu, &fetch.su);
        if asked != *frame {
            // Report only, do not end the link: the frame is skipped, and the following ones may be
            // out of step too.
            events.push(LinkEvent::OutOfStep(
                frame.stream,
                format!(
                    "it sends {} bytes from byte {} of ADU {} where {} bytes from byte {} of ADU \
                     {} are next",
                    frame.bytes, frame.offset, frame.adu, asked.bytes, asked.offset, asked.adu
                ),
            ));
            self.skip = frame.follow();
            return true;
        }
        let Some(fetch) = fetches.remove(index) else {
            return false;
        };
        let live = live_stream(fetch.stream).unwrap_or_default();
        let capacity = match &self.source {
            Source::Ring(ring) => ring.capacity(),
            Source::Socket(_) | Source::Resumable(_) => 0,
        };
        let stays = live.in_ring.is_some_and(|most| most <= capacity / 4);
        let (at, bytes) = (fetch.su.offset as usize, fetch.su.bytes as usize);
        let room = usize::try_from(fetch.tu.bytes).unwrap_or(usize::MAX);
        let buffer = memory.buffer(fetch.buffer, if stays { 0 } else { room });
        buffer.tu_bytes = room;
        if buffer
            .pieces
            .begin((fetch.stream, fetch.tu.adu, fetch.tu.index))
        {
            buffer.claimed.clear();
        }
        buffer.claimed.clear_range(at, bytes);
        self.reading = Some(Reading {
            order: fetch.order,
            stream: fetch.stream,
            adu: fetch.tu.adu,
            buffer: fetch.buffer,
            at,
            bytes,
            done: 0,
            summed: 0,
            checksum: live.checksum,
            sum: Sum::new(live.checksum),
            stays,
            sums: Vec::new(),
            sums_bytes: frame.sums_bytes(),
            summed_by_rank: frame.sums_bytes() > 0 && frame.sums() == live.checksum,
        });
        true
    }

    /// Reads or claims data of the striping unit that is being read.
    fn read(
        &mut self,
        link: LinkId,
        memory: &mut Memory,
        progress: &mut BTreeMap<StreamId, Progress>,
        events: &mut Vec<LinkEvent>,
    ) -> Result<Moved, String> {
        let Some(it) = &mut self.reading else {
            return Ok(Moved::None);
        };
        let moved = if it.done == it.bytes {
            it.read_sums(&mut self.source)?
        } else if let (true, Source::Ring(ring)) = (it.stays, &mut self.source) {
            let part = it.claim(ring, &mut self.full)?;
            match part {
                Claiming::Part(claim) => {
                    let bytes = claim.len();
                    if !it.summed_by_rank {
                        self.sum_buffer.sum(&claim, it.checksum, &mut it.sum);
                    }
                    let buffer = memory.buffer(it.buffer, 0);
                    buffer
                        .claimed
                        .put(it.at + it.done, RingClaim { link, claim });
                    it.done += bytes;
                    Moved::Some(bytes)
                }
                Claiming::Nothing => Moved::None,
                Claiming::End => Moved::End,
            }
        } else {
            it.copy(&mut self.source, memory)?
        };
        if it.done == it.bytes && it.sums.len() == it.sums_bytes {
            it.set_sums(memory);
            let progress = progress.entry(it.stream).or_default();
            progress.add(it.adu, it.bytes as u64);
            events.push(LinkEvent::Over(it.order));
            let bytes = (Frame::BYTES + it.bytes) as u64;
            self.small = (bytes <= SMALL).then_some((it.stream, bytes));
            self.reading = None;
        }
        Ok(moved)
    }

    /// Reads and discards bytes of an unwanted striping unit.
    fn skip_bytes(&mut self) -> Result<Moved, String> {
        let mut waste = [0; 16 << 10];
        let most = self.skip.min(waste.len() as u64) as usize;
        let moved = read(&mut self.source, &mut waste[..most])?;
        if let Moved::Some(bytes) = moved {
            self.skip -= bytes as u64;
        }
        Ok(moved)
    }

    /// Reads the header of the next frame from the link.
    fn next_head(
        &mut self,
        progress: &BTreeMap<StreamId, Progress>,
        live_stream: &dyn Fn(StreamId) -> Option<LiveStream>,
        events: &mut Vec<LinkEvent>,
    ) -> Result<Moved, String> {
        let moved = read(&mut self.source, &mut self.head[self.got..])?;
        match moved {
            Moved::Some(bytes) => self.got += bytes,
            Moved::End if self.got > 0 => {
                return Err("its other end was closed in mid-frame".into());
            }
            other => return Ok(other),
        }
        if self.got < Frame::BYTES {
            return Ok(moved);
        }
        self.got = 0;
        let frame = match Frame::decode(&self.head) {
            Ok(frame) => frame,
            Err(error) => {
                events.push(LinkEvent::Garbled(error.to_string()));
                return Ok(Moved::None);
            }
        };
        if live_stream(frame.stream).is_none() {
            self.stray += 1;
            self.skip = frame.follow();
            return Ok(moved);
        }
        match frame.kind {
            Kind::Data | Kind::Crc32c | Kind::Internet => {
                let before = progress.get(&frame.stream).map_or(0, |it| it.bytes);
                events.push(LinkEvent::Offered(
                    frame.stream,
                    before + u64::from(frame.bytes),
                ));
                self.frame = Some(frame);
            }
            Kind::Cut => events.push(LinkEvent::Abandoned(frame.stream)),
            other => {
                events.push(LinkEvent::Garbled(format!(
                    "a rank sent a frame {other:?}: Data, Crc32c, Internet and Cut are the rank's"
                )));
                return Ok(Moved::None);
            }
        }
        Ok(moved)
    }
}

/// The result of an attempt to claim ring memory.
enum Claiming {
    Part(Claim),
    Nothing,
    End,
}

impl Reading {
    /// Returns the number of bytes to claim in one step: all remaining bytes of the striping unit
    /// if the rank has summed them, otherwise a part, which is summed while the rank writes the
    /// next part.
    fn step(&self, ring: &Consumer) -> u64 {
        let remaining = (self.bytes - self.done) as u64;
        match self.summed_by_rank {
            true => remaining.min(ring.capacity() / 4),
            false => remaining.min(STEP as u64),
        }
    }

    /// Claims the bytes of the next step of the striping unit, once all of them are in the ring.
    fn claim(&self, ring: &mut Consumer, full: &mut bool) -> Result<Claiming, String> {
        // Check first whether the rank has closed the ring: if so, the bytes found next are its
        // last ones.
        let over = ring.is_over();
        let there = match ring.available() {
            Ok(Some(there)) => there,
            Ok(None) => return Ok(Claiming::End),
            Err(error) => return Err(gone_reason(&error)),
        };
        let step = self.step(ring);
        let len = if over { step.min(there) } else { step };
        if there < len {
            return Ok(Claiming::Nothing);
        }
        *full = ring.capacity() / 2 < ring.held() + len;
        if *full {
            return Ok(Claiming::Nothing);
        }
        let claim = ring
            .claim(len as usize)
            .map_err(|error| gone_reason(&error))?;
        Ok(claim.map_or(Claiming::Nothing, Claiming::Part))
    }

    /// Copies bytes of the striping unit to its buffer, up to the end of the next step, whose
    /// checksum is then computed.
    fn copy(&mut self, source: &mut Source, memory: &mut Memory) -> Result<Moved, String> {
        let buffer = memory.buffer(self.buffer, self.at + self.bytes);
        let room = &mut buffer.block.bytes[self.at..self.at + self.bytes];
        // Copy at most one step, so that its checksum is computed while the bytes are in the cache.
        let end = self.bytes.min(self.summed + STEP);
        let moved = read(source, &mut room[self.done..end])?;
        let Moved::Some(bytes) = moved else {
            return Ok(moved);
        };
        self.done += bytes;
        if self.done == end {
            if !self.summed_by_rank {
                self.sum.add(&room[self.summed..end]);
            }
            self.summed = end;
        }
        Ok(moved)
    }

    /// Reads the checksums that the rank sends after the data.
    fn read_sums(&mut self, source: &mut Source) -> Result<Moved, String> {
        let mut words = [0; 256];
        let most = words.len().min(self.sums_bytes - self.sums.len());
        let moved = read(source, &mut words[..most])?;
        if let Moved::Some(bytes) = moved {
            self.sums.extend_from_slice(&words[..bytes]);
        }
        Ok(moved)
    }

    /// Records the checksum of the striping unit, or the checksums of its blocks, in the buffer.
    fn set_sums(&self, memory: &mut Memory) {
        let pieces = &mut memory.buffer(self.buffer, 0).pieces;
        if !self.summed_by_rank {
            pieces.set(self.at as u64, self.bytes as u64, self.sum);
            return;
        }
        let (words, _) = self.sums.as_chunks::<4>();
        for (number, word) in words.iter().enumerate() {
            let begin = number * BLOCK_BYTES;
            let bytes = BLOCK_BYTES.min(self.bytes - begin) as u64;
            let sum = Sum::from_word(self.checksum, u32::from_le_bytes(*word), bytes);
            pieces.set((self.at + begin) as u64, bytes, sum);
        }
    }
}

/// Returns the message for an error of the ring: why the rank's end is gone.
fn gone_reason(error: &isthmus_ring::Error) -> String {
    match error {
        isthmus_ring::Error::PeerGone { .. } => "its process ended".into(),
        other => other.to_string(),
    }
}

/// Reads bytes from a ring or a socket without waiting.
fn read(source: &mut Source, bytes: &mut [u8]) -> Result<Moved, String> {
    match source {
        Source::Socket(socket) => socket.read(bytes).map_err(|error| error.to_string()),
        Source::Resumable(resumable) => resumable.read(bytes),
        Source::Ring(ring) => match ring.try_read(bytes) {
            Ok(Some(0)) => Ok(Moved::None),
            Ok(Some(read)) => Ok(Moved::Some(read)),
            Ok(None) => Ok(Moved::End),
            Err(error) => Err(gone_reason(&error)),
        },
    }
}
