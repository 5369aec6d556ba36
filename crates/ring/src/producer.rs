//! The end that writes.

use crate::CHUNK;
use crate::error::{Error, Wanted, refused};
use crate::handles::Handles;
use crate::line::Line;
use crate::mapping::Mapping;
use crate::wait::spin;
use crate::writer::Writer;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;
use vm_memory::ReadVolatile;

/// Bytes after which the consumer is told of them, so that it copies while the next are written.
pub(crate) const STEP: usize = 2 * CHUNK;

/// Writes to a ring. Dropped, it is closed.
///
/// Its descriptor becomes readable when the consumer wakes it or is gone: a driver of many rings
/// calls [`Producer::arm`], polls all, and calls [`Producer::mark_ready`] of those that are readable.
#[derive(Debug)]
pub struct Producer {
    /// Nothing only while it is handed over or dropped.
    parts: Option<Parts>,
}

#[derive(Debug)]
struct Parts {
    writer: Writer<Arc<Mapping>>,
    line: Line,
    memory: OwnedFd,
}

impl Producer {
    /// The producer's end of the ring that was received, of at most `most` bytes; there must be one
    /// only. The memory of a ring is counted for the process that touches it first, all of it here.
    ///
    /// # Errors
    /// [`Error::NoRing`] if it is none or too large, or its memory could be taken away by the other
    /// side; [`Error::Corrupt`] if its positions are none.
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

    /// This end for another process, as it is: what was published stays, what was reserved only
    /// does not.
    pub fn into_handles(mut self) -> Handles {
        let parts = self.parts.take().expect("only dropped ends have no parts");
        parts.writer.awake();
        Handles::new(parts.memory, parts.line.into_socket())
    }

    fn parts(&mut self) -> &mut Parts {
        self.parts
            .as_mut()
            .expect("only dropped ends have no parts")
    }

    /// Bytes of the ring.
    pub fn capacity(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.writer.capacity())
    }

    /// Bytes ever written.
    pub fn written(&self) -> u64 {
        let parts = self.parts.as_ref();
        parts.map_or(0, |parts| parts.writer.tail())
    }

    /// Bytes that the consumer has read of all, as it says now.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn read_by_consumer(&mut self) -> Result<u64, Error> {
        let writer = &mut self.parts().writer;
        writer.look()?;
        Ok(writer.head())
    }

    /// Bytes that can be written now.
    ///
    /// # Errors
    /// [`Error::Corrupt`]; [`Error::Closed`] or [`Error::PeerGone`] if nobody will read them.
    pub fn room(&mut self) -> Result<u64, Error> {
        self.parts().room()
    }

    /// Writes what fits of `bytes` now.
    ///
    /// # Returns
    /// How many bytes that are: none if the ring is full.
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

    /// Writes all of `bytes`, of any length.
    ///
    /// # Errors
    /// [`Error::TimedOut`] at `deadline`; [`Error::Closed`] or [`Error::PeerGone`] if nobody will
    /// read them. Each says how many bytes were written nevertheless. [`Error::Corrupt`].
    pub fn write_all(&mut self, bytes: &[u8], deadline: Instant) -> Result<(), Error> {
        self.write_seen(bytes, deadline, STEP, |_| ())
    }

    /// The same, and shows `bytes` to `seen`, piece by piece, each of at most `step` bytes, just
    /// before it is copied: sums of them cost little then.
    ///
    /// # Errors
    /// As [`Producer::write_all`].
    pub fn write_seen(
        &mut self,
        bytes: &[u8],
        deadline: Instant,
        step: usize,
        mut seen: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let parts = self.parts();
        let step = step.clamp(1, bytes.len().max(1));
        let half = parts.writer.capacity() / 2;
        let mut written = 0;
        while written < bytes.len() {
            let rest = &bytes[written..];
            let piece = &rest[..rest.len().min(step)];
            let wanted = (piece.len() as u64).min(half);
            // Who must sleep sleeps for more, so that it is not woken for each piece.
            let worth = (rest.len() as u64).min(half);
            let room = parts.wait(wanted, worth, deadline);
            let room = room.map_err(|error| error.after(written))?;
            let piece = &piece[..piece.len().min(room as usize)];
            seen(piece);
            parts.writer.put(0, piece);
            parts.publish(piece.len());
            written += piece.len();
        }
        Ok(())
    }

    /// Waits for room for `len` bytes, to be filled in any order and published together.
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

    /// Reads once from a file or socket straight to the ring: at most `most` bytes, what fits now
    /// and lies there in one piece. The consumer has them then. It waits as long as the file does:
    /// one that blocks, for ever.
    ///
    /// # Returns
    /// The bytes read; nothing if the ring is full; 0 at the end of the file.
    ///
    /// # Errors
    /// As [`Producer::room`]; [`Error::System`] with what the file says, such as that it would
    /// block.
    pub fn fill_from(&mut self, file: impl AsFd, most: usize) -> Result<Option<usize>, Error> {
        let parts = self.parts();
        parts.room()?;
        let (memory, at, len) = parts.writer.place(most);
        if len == 0 {
            return Ok(None);
        }
        let read = file.as_fd().read_volatile(&mut memory.bytes(at, len));
        let read = read.map_err(|error| refused("reading to a ring", error))?;
        parts.publish(read);
        Ok(Some(read))
    }

    /// Before a driver polls the descriptor of this end: asks to be woken once there is room for
    /// `len` bytes, at most half of the ring, or the consumer closes.
    ///
    /// # Returns
    /// Whether it may sleep. If not, there is something to do now.
    ///
    /// # Errors
    /// [`Error::TooMuch`], [`Error::Corrupt`].
    pub fn arm(&mut self, len: u64) -> Result<bool, Error> {
        let parts = self.parts();
        at_most_half(len, parts.writer.capacity())?;
        Ok(!parts.line.gone() && parts.writer.sleep(len)?)
    }

    /// After a driver found the descriptor readable: takes what woke it, and sees whether the
    /// consumer is gone.
    ///
    /// # Errors
    /// [`Error::System`].
    pub fn mark_ready(&mut self) -> Result<(), Error> {
        let parts = self.parts();
        parts.writer.awake();
        parts.line.mark_ready()
    }

    /// Says that no more will be written. The consumer can read what there is.
    pub fn close(self) {
        drop(self);
    }
}

pub(crate) fn at_most_half(wanted: u64, capacity: u64) -> Result<(), Error> {
    let most = capacity / 2;
    if wanted <= most {
        Ok(())
    } else {
        Err(Error::TooMuch { wanted, most })
    }
}

impl Parts {
    fn publish(&mut self, len: usize) {
        if len > 0 && self.writer.publish(len) {
            self.line.wake();
        }
    }

    fn room(&mut self) -> Result<u64, Error> {
        if self.writer.reader_closed() {
            return Err(Error::Closed { moved: 0 });
        }
        if self.line.gone() {
            return Err(Error::PeerGone { moved: 0 });
        }
        Ok(self.writer.look()?)
    }

    /// Waits for `wanted` bytes of room; who must sleep for it waits for `worth`.
    fn wait(&mut self, wanted: u64, worth: u64, deadline: Instant) -> Result<u64, Error> {
        let mut in_time = true;
        loop {
            let mut room = self.room()?;
            if room < wanted && in_time {
                let writer = &mut self.writer;
                spin(|| {
                    room = writer.look()?;
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
                self.writer.awake();
                in_time?
            } else {
                // Usually there is room now; a liar may say so again and again.
                Instant::now() < deadline
            };
        }
    }
}

impl AsFd for Producer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        let parts = self.parts.as_ref();
        parts.expect("only dropped ends have no parts").line.as_fd()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        if let Some(parts) = &mut self.parts
            && parts.writer.close()
        {
            parts.line.wake();
        }
    }
}

/// Room in a ring. What is not committed when this is dropped was never written.
#[derive(Debug)]
pub struct Reserved<'p> {
    parts: &'p mut Parts,
    len: usize,
}

impl Reserved<'_> {
    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `bytes` to byte `at` of the room.
    ///
    /// # Returns
    /// The bytes copied: what is beyond the room is left out.
    pub fn put(&mut self, at: usize, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.len.saturating_sub(at));
        self.parts.writer.put(at, &bytes[..len])
    }

    /// Gives the first `len` bytes of the room to the consumer. Of those that were not put, older
    /// bytes of the ring are given.
    pub fn commit(self, len: usize) {
        self.parts.publish(len.min(self.len));
    }
}
