//! The producer: the writing end of a ring.

use crate::CHUNK;
use crate::error::{Error, Wanted};
use crate::handles::Handles;
use crate::line::Line;
use crate::mapping::Mapping;
use crate::wait::spin;
use crate::writer::Writer;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// Number of bytes after which a writing call notifies the consumer, so that the consumer copies
/// them while the next ones are written.
pub(crate) const STEP: usize = 2 * CHUNK;

/// The end of a ring that writes. Dropping it closes the end.
///
/// The descriptor of the producer becomes readable when the consumer wakes the producer or is gone.
/// A driver of many rings calls [`Producer::arm`], polls all descriptors, and calls
/// [`Producer::mark_ready`] for the readable ones.
#[derive(Debug)]
pub struct Producer {
    /// The parts of the producer; `None` only while this end of the ring is passed to another
    /// process or dropped.
    parts: Option<Parts>,
}

/// The writer, socket and memory of a producer.
#[derive(Debug)]
struct Parts {
    writer: Writer<Arc<Mapping>>,
    line: Line,
    memory: OwnedFd,
}

impl Producer {
    /// Attaches the producer's end of a received ring of at most `most` bytes. A ring must have
    /// only one producer. The whole memory of the ring is charged to this process, which accesses
    /// it first.
    ///
    /// # Errors
    /// [`Error::NoRing`] if it is not a ring, is too large, or its memory could be shrunk by the
    /// other side; [`Error::Corrupt`] if its positions are invalid.
    pub fn attach(handles: Handles, most: u64) -> Result<Self, Error> {
        let line = Line::new(handles.line)?;
        let writer = Writer::new(Mapping::attach(&handles.memory, most)?)?;
        let memory = handles.memory;
        let parts = Some(Parts {
            writer,
            line,
            memory,
        });
        Ok(Self { parts })
    }

    /// Converts this end to handles, with which it is passed to another process. Published data
    /// stays in the ring; reserved room is released.
    pub fn into_handles(mut self) -> Handles {
        let parts = self.parts.take().expect("only dropped ends have no parts");
        parts.writer.mark_awake();
        Handles::new(parts.memory, parts.line.into_socket())
    }

    /// Returns the parts of the producer, which exist until this end of the ring is passed to
    /// another process or dropped.
    fn parts(&mut self) -> &mut Parts {
        self.parts
            .as_mut()
            .expect("only dropped ends have no parts")
    }

    /// Returns the capacity of the ring in bytes.
    pub fn capacity(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.writer.capacity())
    }

    /// Returns the total number of bytes written to the ring.
    pub fn written(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.writer.tail())
    }

    /// Returns the number of bytes that can be written to the ring now.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Closed`] or [`Error::PeerGone`] if no consumer will read them.
    pub fn room(&mut self) -> Result<u64, Error> {
        self.parts().room()
    }

    /// Writes as much of `bytes` to the ring as fits now.
    ///
    /// # Returns
    /// The number of bytes, 0 if the ring is full.
    ///
    /// # Errors
    /// As [`Producer::room`].
    pub fn try_write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let parts = self.parts();
        parts.room()?;
        let len = parts.writer.put(0, bytes);
        parts.publish(len);
        Ok(len)
    }

    /// Writes all of `bytes` to the ring; they may be more than its capacity.
    ///
    /// # Errors
    /// [`Error::TimedOut`] at `deadline`; [`Error::Closed`] or [`Error::PeerGone`] if no consumer
    /// will read the bytes. Each of these contains the number of bytes that were written.
    /// [`Error::Corrupt`].
    pub fn write_all(&mut self, bytes: &[u8], deadline: Instant) -> Result<(), Error> {
        self.write_all_with(bytes, deadline, STEP, |_| ())
    }

    /// Writes all of `bytes` as [`Producer::write_all`] does, and passes each piece of at most
    /// `step` bytes to `visit` right before it is copied, so that the caller can sum it at low
    /// cost.
    ///
    /// # Errors
    /// As [`Producer::write_all`].
    pub fn write_all_with(
        &mut self,
        bytes: &[u8],
        deadline: Instant,
        step: usize,
        mut visit: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let parts = self.parts();
        let step = step.clamp(1, bytes.len().max(1));
        let half = parts.writer.capacity() / 2;
        let mut written = 0;
        while written < bytes.len() {
            let rest = &bytes[written..];
            let piece = &rest[..rest.len().min(step)];
            let wanted = (piece.len() as u64).min(half);
            // A producer that must sleep waits for more room, so that it is not woken for each
            // piece.
            let worth = (rest.len() as u64).min(half);
            let room = parts.wait(wanted, worth, deadline);
            let room = room.map_err(|error| error.after(written))?;
            let piece = &piece[..piece.len().min(room as usize)];
            visit(piece);
            parts.writer.put(0, piece);
            parts.publish(piece.len());
            written += piece.len();
        }
        Ok(())
    }

    /// Waits for room for `len` bytes, and reserves it. The room can be filled in any order, and is
    /// published as a whole.
    ///
    /// # Errors
    /// [`Error::TooMuch`] for more than half of the ring; [`Error::TimedOut`] at `deadline`;
    /// otherwise as [`Producer::room`].
    pub fn reserve(&mut self, len: usize, deadline: Instant) -> Result<Reserved<'_>, Error> {
        let parts = self.parts();
        at_most_half(len as u64, parts.writer.capacity())?;
        parts.wait(len as u64, len as u64, deadline)?;
        Ok(Reserved { parts, len })
    }

    /// Prepares for polling the descriptor: requests a wake-up when there is room for `len` bytes,
    /// at most half of the ring, or when the consumer closes.
    ///
    /// # Returns
    /// Whether the caller may sleep. If not, the condition holds already.
    ///
    /// # Errors
    /// [`Error::TooMuch`], [`Error::Corrupt`].
    pub fn arm(&mut self, len: u64) -> Result<bool, Error> {
        let parts = self.parts();
        at_most_half(len, parts.writer.capacity())?;
        Ok(!parts.line.gone() && parts.writer.sleep(len)?)
    }

    /// Handles a readable descriptor: consumes the wake-up, and checks whether the consumer is
    /// gone.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn mark_ready(&mut self) -> Result<(), Error> {
        let parts = self.parts();
        parts.writer.mark_awake();
        parts.line.mark_ready()
    }

    /// Closes the writing end, so that no more bytes are written. The consumer can read the
    /// remaining data.
    pub fn close(self) {
        drop(self);
    }
}

/// Checks that a call waits for at most half of the ring's capacity.
pub(crate) fn at_most_half(wanted: u64, capacity: u64) -> Result<(), Error> {
    let most = capacity / 2;
    if wanted <= most {
        Ok(())
    } else {
        Err(Error::TooMuch { wanted, most })
    }
}

impl Parts {
    /// Publishes the next `len` bytes, and wakes the consumer if it waits for them.
    fn publish(&mut self, len: usize) {
        if len > 0 && self.writer.publish(len) {
            self.line.wake();
        }
    }

    /// Returns the number of free bytes of the ring. Fails if no consumer is left.
    fn room(&mut self) -> Result<u64, Error> {
        if self.writer.reader_closed() {
            return Err(Error::Closed { moved: 0 });
        }
        if self.line.gone() {
            return Err(Error::PeerGone { moved: 0 });
        }
        Ok(self.writer.refresh()?)
    }

    /// Waits until the ring has room for `wanted` bytes, and returns its room in bytes. A thread
    /// that must sleep is woken only for `worth` bytes.
    fn wait(&mut self, wanted: u64, worth: u64, deadline: Instant) -> Result<u64, Error> {
        let mut in_time = true;
        loop {
            let mut room = self.room()?;
            if room < wanted && in_time {
                let writer = &mut self.writer;
                spin(|| {
                    room = writer.refresh()?;
                    Ok::<bool, Error>(room >= wanted || writer.reader_closed())
                })?;
            }
            if room >= wanted {
                return Ok(room);
            }
            if !in_time {
                return Err(Error::TimedOut {
                    waited_for: Wanted::Room(wanted),
                    moved: 0,
                    written: self.writer.tail(),
                    read: self.writer.head(),
                });
            }
            in_time = if self.writer.sleep(worth.max(wanted))? {
                let in_time = self.line.sleep(deadline);
                self.writer.mark_awake();
                in_time?
            } else {
                // Usually room is available now. A misbehaving consumer may cause wake-ups without
                // room, so check the deadline.
                Instant::now() < deadline
            };
        }
    }
}

impl AsFd for Producer {
    /// Returns the descriptor that becomes readable when the consumer wakes the producer or is
    /// gone.
    fn as_fd(&self) -> BorrowedFd<'_> {
        let parts = self.parts.as_ref();
        parts.expect("only dropped ends have no parts").line.as_fd()
    }
}

impl Drop for Producer {
    /// Closes the writing end.
    fn drop(&mut self) {
        if let Some(parts) = &mut self.parts
            && parts.writer.close()
        {
            parts.line.wake();
        }
    }
}

/// Room in a ring that a producer has reserved. Room that is not committed before this is dropped
/// becomes free again.
#[derive(Debug)]
pub struct Reserved<'p> {
    parts: &'p mut Parts,
    len: usize,
}

impl Reserved<'_> {
    /// Returns the size of the reserved room in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the reserved room has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `bytes` to byte `at` of the reserved room.
    ///
    /// # Returns
    /// The number of copied bytes, which is smaller than that of `bytes` at the end of the room.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.len.saturating_sub(at));
        self.parts.writer.put(at, &bytes[..len])
    }

    /// Publishes the first `len` bytes of the reserved room to the consumer. Bytes that were not
    /// filled have older contents of the ring.
    pub fn commit(self, len: usize) {
        self.parts.publish(len.min(self.len));
    }
}
