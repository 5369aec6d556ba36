//! The half of a link that ranks write: frames in, SUs to where fetches want them.

use super::{Source, Told, Want};
use crate::frame::{Frame, Kind};
use crate::memory::Memory;
use crate::socket::Moved;
use crate::sum::Sum;
use isthmus_stream::StreamId;
use isthmus_stream::checksum::Checksum;
use isthmus_stream::{BufferId, OrderId};
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that one look at a link moves at most, so that others have their turn.
const TURN: usize = 1 << 20;
/// Bytes that are copied before they are summed, while they are in the second cache.
const STEP: usize = 64 << 10;

/// An SU that is being read.
#[derive(Debug)]
struct Reading {
    order: OrderId,
    stream: StreamId,
    buffer: BufferId,
    /// First byte in the buffer, length, how much is there, how much of that is summed.
    at: usize,
    bytes: usize,
    done: usize,
    summed: usize,
    sum: Sum,
}

/// The end that is read.
#[derive(Debug)]
pub(crate) struct Input {
    source: Source,
    head: [u8; Frame::BYTES],
    got: usize,
    /// A frame that nobody has fetched yet.
    frame: Option<Frame>,
    reading: Option<Reading>,
    /// Bytes of an SU that nobody wants any more.
    skip: u64,
    /// Frames of streams that have ended or never were.
    pub stray: u64,
}

impl Input {
    pub fn new(source: Source) -> Self {
        Self {
            source,
            head: [0; Frame::BYTES],
            got: 0,
            frame: None,
            reading: None,
            skip: 0,
            stray: 0,
        }
    }

    /// Drops what is of a stream that has ended.
    pub fn forget(&mut self, stream: StreamId) {
        if let Some(frame) = self.frame.take_if(|frame| frame.stream == stream) {
            self.skip = u64::from(frame.bytes);
        }
    }

    /// Lets an SU that is being read go by; whether it was that of this order.
    pub fn withdraw(&mut self, order: OrderId) -> bool {
        match self.reading.take_if(|reading| reading.order == order) {
            Some(reading) => {
                self.skip = (reading.bytes - reading.done) as u64;
                true
            }
            None => false,
        }
    }

    /// Whether there is something to do here as soon as bytes come.
    pub fn waits_for_bytes(&self) -> bool {
        self.frame.is_none()
    }

    /// Bytes of which it is worth being woken.
    pub fn worth(&self) -> u64 {
        let left = self.reading.as_ref().map(|it| (it.bytes - it.done) as u64);
        left.unwrap_or(self.skip.max(1))
    }

    pub fn is_ring(&self) -> bool {
        matches!(self.source, Source::Ring(_))
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        match &self.source {
            Source::Ring(ring) => ring.as_fd(),
            Source::Socket(socket) => socket.as_fd(),
        }
    }

    /// Before a poll of its descriptor: whether it may be slept on.
    pub fn arm(&mut self) -> bool {
        let worth = self.worth();
        match &mut self.source {
            // What cannot be armed is broken, and tells so when it is read.
            Source::Ring(ring) => ring.arm(worth.min(ring.capacity() / 2)).unwrap_or(false),
            Source::Socket(_) => true,
        }
    }

    /// After a poll that found it readable.
    pub fn heed(&mut self) {
        if let Source::Ring(ring) = &mut self.source {
            // Told by the next read.
            let _ = ring.heed();
        }
    }

    /// Reads what is there, up to the bytes of a turn; whether anything moved. `live` gives the
    /// checksum of streams that go on; `taken` counts what they got.
    pub fn advance(
        &mut self,
        memory: &mut Memory,
        wants: &mut VecDeque<Want>,
        taken: &mut BTreeMap<StreamId, u64>,
        live: &dyn Fn(StreamId) -> Option<Checksum>,
        told: &mut Vec<Told>,
    ) -> bool {
        let mut left = TURN;
        let mut any = false;
        while left > 0 {
            let moved = if self.skip > 0 {
                self.pass_by()
            } else if self.reading.is_some() {
                self.read(memory, taken, told)
            } else if let Some(frame) = self.frame {
                match self.begin(&frame, memory, wants, live, told) {
                    true => {
                        any = true;
                        continue;
                    }
                    false => return any,
                }
            } else {
                self.next_head(taken, live, told)
            };
            match moved {
                Ok(Moved::Some(bytes)) => {
                    any = true;
                    left = left.saturating_sub(bytes);
                }
                Ok(Moved::None) => return any,
                Ok(Moved::End) => {
                    told.push(Told::Gone("its other end was closed".into()));
                    return true;
                }
                Err(why) => {
                    told.push(Told::Gone(why));
                    return true;
                }
            }
        }
        any
    }

    /// Gives a frame to the fetch that wants it; false if none does yet.
    fn begin(
        &mut self,
        frame: &Frame,
        memory: &mut Memory,
        wants: &mut VecDeque<Want>,
        live: &dyn Fn(StreamId) -> Option<Checksum>,
        told: &mut Vec<Told>,
    ) -> bool {
        let Some(place) = wants.iter().position(|want| want.stream == frame.stream) else {
            return false;
        };
        self.frame = None;
        let want = &wants[place];
        let asked = Frame::su(Kind::Data, want.stream, &want.tu, &want.su);
        if asked != *frame {
            // What follows cannot be trusted to be in step either.
            told.push(Told::OutOfStep(
                frame.stream,
                format!(
                    "it sends {} bytes from byte {} of ADU {} where {} bytes from byte {} of ADU \
                     {} are next",
                    frame.bytes, frame.offset, frame.adu, asked.bytes, asked.offset, asked.adu
                ),
            ));
            self.skip = u64::from(frame.bytes);
            return true;
        }
        let Some(want) = wants.remove(place) else {
            return false;
        };
        let room = usize::try_from(want.tu.bytes).unwrap_or(usize::MAX);
        let buffer = memory.buffer(want.buffer, room);
        buffer.tu_bytes = room;
        buffer
            .pieces
            .begin((want.stream, want.tu.adu, want.tu.index));
        self.reading = Some(Reading {
            order: want.order,
            stream: want.stream,
            buffer: want.buffer,
            at: want.su.offset as usize,
            bytes: want.su.bytes as usize,
            done: 0,
            summed: 0,
            sum: Sum::new(live(want.stream).unwrap_or(Checksum::None)),
        });
        true
    }

    fn read(
        &mut self,
        memory: &mut Memory,
        taken: &mut BTreeMap<StreamId, u64>,
        told: &mut Vec<Told>,
    ) -> Result<Moved, String> {
        let Some(it) = &mut self.reading else {
            return Ok(Moved::None);
        };
        let buffer = memory.buffer(it.buffer, it.at + it.bytes);
        let room = &mut buffer.block.bytes[it.at..it.at + it.bytes];
        // Not beyond where it is summed next, so that what is summed was just copied.
        let end = it.bytes.min(it.summed + STEP);
        let moved = read(&mut self.source, &mut room[it.done..end])?;
        let Moved::Some(bytes) = moved else {
            return Ok(moved);
        };
        it.done += bytes;
        if it.done == end {
            it.sum.add(&room[it.summed..end]);
            it.summed = end;
        }
        if it.done == it.bytes {
            buffer.pieces.set(it.at as u64, it.bytes as u64, it.sum);
            *taken.entry(it.stream).or_default() += it.bytes as u64;
            told.push(Told::Over(it.order));
            self.reading = None;
        }
        Ok(moved)
    }

    fn pass_by(&mut self) -> Result<Moved, String> {
        let mut waste = [0; 16 << 10];
        let most = self.skip.min(waste.len() as u64) as usize;
        let moved = read(&mut self.source, &mut waste[..most])?;
        if let Moved::Some(bytes) = moved {
            self.skip -= bytes as u64;
        }
        Ok(moved)
    }

    fn next_head(
        &mut self,
        taken: &BTreeMap<StreamId, u64>,
        live: &dyn Fn(StreamId) -> Option<Checksum>,
        told: &mut Vec<Told>,
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
        let frame = Frame::decode(&self.head).map_err(|error| error.to_string())?;
        if live(frame.stream).is_none() {
            self.stray += 1;
            self.skip = u64::from(frame.bytes);
            return Ok(moved);
        }
        match frame.kind {
            Kind::Data => {
                let before = taken.get(&frame.stream).copied().unwrap_or(0);
                told.push(Told::Offered(frame.stream, before + u64::from(frame.bytes)));
                self.frame = Some(frame);
            }
            Kind::Cut => told.push(Told::GivenUp(frame.stream)),
            other => {
                return Err(format!(
                    "a rank sent a frame {other:?}: Data and Cut are theirs"
                ));
            }
        }
        Ok(moved)
    }
}

fn read(source: &mut Source, bytes: &mut [u8]) -> Result<Moved, String> {
    match source {
        Source::Socket(socket) => socket.read(bytes).map_err(|error| error.to_string()),
        Source::Ring(ring) => match ring.try_read(bytes) {
            Ok(Some(0)) => Ok(Moved::None),
            Ok(Some(read)) => Ok(Moved::Some(read)),
            Ok(None) => Ok(Moved::End),
            Err(isthmus_ring::Error::PeerGone { .. }) => Err("its process ended".into()),
            Err(error) => Err(error.to_string()),
        },
    }
}
